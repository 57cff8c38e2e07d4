/**
 * Options of one program, or of one subcommand, that run another program or write a file, as words between spaces. A name
 * with a dot at its end stands for all that begin with it.
 */
export interface UnsafeOptions {
  /** Letters, looked for in every group such as `-ni`. */
  readonly short?: string;
  /** Names after `--`. A beginning of one counts too, since many programs take that for the whole. */
  readonly long?: string;
  /** Names after one dash, as `find` and Go have them. */
  readonly single?: string;
  /** However many dashes stand in front of a name, it is that name: `-script-shell`. */
  readonly countsNoDashes?: true;
}

export interface Program extends UnsafeOptions {
  /** `plain`: its name is its key. `subcommands`: its name and its first word. */
  readonly kind: "plain" | "subcommands";
  /** Options end at the first word that is none. */
  readonly stopsAtOperand?: true;
  /** Options before the subcommand that take the next word, for finding the subcommand all the same. */
  readonly globalValues?: string;
  readonly globalAlone?: string;
  /** Subcommands that exist to run programs, or to say what others run. */
  readonly neverKeyed?: string;
  readonly bySubcommand?: Readonly<Record<string, UnsafeOptions>>;
}

/** Programs that, whatever their arguments, run no other program and write no file but those they exist to write. */
const plain =
  "[ arch basename cat cd chmod chown cksum cmp column comm cp cut df dirname du echo egrep exit expand expr factor false fgrep fmt fold grep groups head hexdump id join jq ln ls md5sum mkdir mv nl nproc numfmt od paste printenv ps pwd readlink realpath rev rm rmdir seq sha1sum sha256sum sha512sum sleep stat strings sum tac tail test touch tr true tsort tty type uname unexpand uptime wc which whoami yes :";

const plainWithUnsafeOptions: Readonly<Record<string, UnsafeOptions & { readonly stopsAtOperand?: true }>> = {
  "[": { short: "v" },
  test: { short: "v" },
  printf: { short: "v", stopsAtOperand: true },
  b2sum: {},
  base32: { short: "o", long: "output" },
  base64: { short: "o", long: "output" },
  date: { short: "s", long: "set" },
  diff: { short: "l", long: "paginate" },
  fd: { short: "xX", long: "exec exec-batch" },
  file: { short: "CzZ", long: "compile uncompress uncompress-noreport" },
  find: { single: "exec execdir ok okdir delete fprint fprint0 fprintf fls" },
  rg: { short: "z", long: "pre search-zip hostname-bin" },
  sed: { short: "if", long: "in-place file" },
  shuf: { short: "o", long: "output" },
  sort: { short: "o", long: "output compress-program" },
  tree: { short: "oR", long: "output" },
  uniq: {},
};

const git: Program = {
  kind: "subcommands",
  long: "output ext-diff textconv upload-pack receive-pack exec open-files-in-pager config config-env template extcmd export-marks export-pack-edges index-output build-fake-ancestor unsafe-paths help",
  globalValues: "C c git-dir work-tree namespace super-prefix config-env exec-path list-cmds attr-source",
  globalAlone:
    "p P paginate no-pager bare no-replace-objects literal-pathspecs glob-pathspecs noglob-pathspecs icase-pathspecs no-optional-locks version help html-path man-path info-path h v no-lazy-fetch no-advice",
  neverKeyed:
    "bisect citool config credential daemon difftool filter-branch gui help hook instaweb maintenance merge-index mergetool receive-pack remote-ext remote-fd send-email shell submodule upload-archive upload-pack web--browse",
  bySubcommand: {
    archive: { short: "o", long: "remote" },
    bugreport: { short: "o" },
    "cat-file": { long: "filters" },
    "checkout-index": { long: "prefix" },
    clone: { short: "uc" },
    diagnose: { short: "o" },
    fetch: { short: "u" },
    "format-patch": { short: "o", long: "output-directory" },
    grep: { short: "O" },
    "index-pack": { short: "o" },
    "interpret-trailers": { long: "in-place" },
    "ls-remote": { short: "u" },
    mailsplit: { short: "o" },
    rebase: { short: "xi", long: "interactive" },
  },
};

const npmOptions =
  "script-shell shell prefix userconfig globalconfig node-options editor viewer browser git init-module node-gyp onload-script python cache logs-dir config.";

const withSubcommands: Readonly<Record<string, Program>> = {
  git,
  npm: {
    kind: "subcommands",
    short: "C",
    long: npmOptions,
    countsNoDashes: true,
    globalValues: "C prefix loglevel registry userconfig w workspace",
    globalAlone: "s silent d dd ddd g global workspaces json",
    neverKeyed: "c config create edit exec explore init innit set x",
  },
  pnpm: {
    kind: "subcommands",
    short: "C",
    long: `${npmOptions} dir`,
    countsNoDashes: true,
    globalValues: "C dir F filter",
    globalAlone: "r recursive w workspace-root s silent",
    neverKeyed: "c config create dlx exec set",
  },
  yarn: {
    kind: "subcommands",
    long: "cwd script-shell use-yarnrc rc-filename node-options",
    globalValues: "cwd",
    globalAlone: "s silent",
    neverKeyed: "config create dlx exec node set",
  },
  cargo: {
    kind: "subcommands",
    short: "ZC",
    long: "config target-dir out-dir artifact-dir manifest-path lockfile-path open",
    globalValues: "C Z config color",
    globalAlone: "q quiet v vv verbose offline locked frozen",
    neverKeyed: "config rustc rustdoc",
  },
  go: {
    kind: "subcommands",
    single:
      "exec toolexec o vettool overlay modfile C outputdir cpuprofile memprofile blockprofile mutexprofile trace coverprofile ldflags gccgoflags gcflags asmflags pkgdir test.",
    globalValues: "C",
    neverKeyed: "env generate tool",
  },
};

const programs: ReadonlyMap<string, Program> = new Map([
  ...plain.split(" ").map((name): [string, Program] => [name, { kind: "plain" }]),
  ...Object.entries(plainWithUnsafeOptions).map(([name, unsafe]): [string, Program] => [
    name,
    { kind: "plain", ...unsafe },
  ]),
  ...Object.entries(withSubcommands),
]);

/** What is known of a program, by its name without a folder. */
export function programOf(name: string): Program | undefined {
  return programs.get(name);
}

const interpreters = new Set(
  "sh bash dash zsh ksh mksh fish csh tcsh ash rbash yash oksh pdksh posh xonsh nu elvish at batch eval source . python ipython pypy node nodejs deno bun tsx ts-node perl ruby irb php lua luajit tclsh wish expect awk gawk mawk nawk original-awk R Rscript julia octave raku sbcl clisp ocaml gnuplot osascript pwsh powershell groovy jshell scala ghci runghc guile racket clojure elixir iex erl escript swift sqlite3 psql mysql mariadb mongosh mongo duckdb gdb ed ex vi vim nvim emacs m4 bc dc".split(
    " ",
  ),
);

/** Programs whose arguments or files are programs in turn. */
export function isInterpreter(name: string): boolean {
  return interpreters.has(name) || /^(?:python|pypy|node|perl|ruby|php|lua|tclsh)[\d.-]+$/.test(name);
}

const stateBuiltins = new Set(
  "alias bg bind builtin chdir compgen complete compopt declare dirs disown enable exec export fc fg getopts hash history let local logout mapfile popd pushd read readarray readonly return set shift shopt suspend trap typeset ulimit umask unalias unset wait".split(
    " ",
  ),
);

/** Builtins that change what the shell, or a command after them, does. */
export function isStateBuiltin(name: string): boolean {
  return stateBuiltins.has(name);
}
