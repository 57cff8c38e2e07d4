import type { OptionSpec } from "./options.ts";

/** A program that runs the command among its arguments, and how to find that command. Lists are words between spaces. */
export interface Wrapper extends OptionSpec {
  /** How many operands come before the command. */
  readonly operands?: number;
  /** `NAME=value` may come before the command. */
  readonly assigns?: true;
  /**
   * What the operands are: the words of a command, the words of a shell text, a shell text each, a shell text and then what
   * is handed to it, or nothing to look into. Words unless stated.
   */
  readonly holds?: "words" | "text" | "texts" | "first_text" | "nothing";
  /** Options whose value is a shell text. */
  readonly texts?: string;
  /** Options whose value is a name, `=`, and what may be a shell text. */
  readonly settings?: string;
  /** The words after such a value are more words of its text. */
  readonly joinsTexts?: true;
  /** Only another way to write the program: its operands are the subcommand that counts, and what belongs to it. */
  readonly isRepeat?: true;
  /** Options after which the words of a command stand, up to `;` or `+`. */
  readonly actions?: string;
  /** An interpreter, or another program known for itself: only what it wraps is of interest here. */
  readonly isKnownElsewhere?: true;
}

const shell: Wrapper = {
  value: "O o init-file rcfile",
  takesPlus: true,
  alone: "a b c e f h i k l m n p r s t u v x B C E H P T D login posix norc noprofile verbose restricted",
  holds: "first_text",
  isKnownElsewhere: true,
};

const container: Wrapper = {
  value:
    "e env u user w workdir v volume p publish name network entrypoint m memory l label h hostname env-file mount platform cpus add-host device",
  alone: "d detach i interactive t tty rm init privileged read-only",
  texts: "entrypoint",
  operands: 1,
};

const pod: Wrapper = { value: "n c namespace container image", alone: "i t stdin tty rm", operands: 1 };

const repeat: Wrapper = { isRepeat: true, isKnownElsewhere: true };

const anyOptions: Wrapper = {};

const wrappers: ReadonlyMap<string, Wrapper> = new Map(
  Object.entries({
    ...Object.fromEntries("sh bash dash zsh ksh mksh ash fish rbash csh tcsh".split(" ").map((name) => [name, shell])),
    ...Object.fromEntries(
      "busybox toybox nohup setsid chronic catchsegv fakeroot proot unbuffer torsocks torify proxychains proxychains4 caffeinate systemd-run systemd-inhibit valgrind ltrace rlwrap dbus-run-session xvfb-run npx bunx pipx uvx direnv dotenv winpty wine cgexec numactl prlimit setpriv setarch linux64 i386 choom uclampset gosu su-exec nsenter unshare bwrap firejail trickle daemonize start-stop-daemon run-parts ld.so eatmydata fakechroot runcon capsh sshpass dbus-launch openvt sem tsp cross-env nodemon watchexec nix-shell"
        .split(" ")
        .map((name) => [name, anyOptions]),
    ),
    eval: { holds: "text", isKnownElsewhere: true },
    ...Object.fromEntries(
      "mapfile readarray compgen complete"
        .split(" ")
        .map((name) => [name, { texts: "C", holds: "nothing", isKnownElsewhere: true } as const]),
    ),
    hyperfine: { value: "w m M r p s S n warmup runs", holds: "texts" },
    concurrently: { value: "n c names", holds: "texts" },
    jobs: { alone: "l n p r s x" },
    trap: { holds: "first_text", isKnownElsewhere: true },
    alias: { holds: "nothing", isKnownElsewhere: true },
    command: { alone: "p v V" },
    builtin: {},
    exec: { value: "a", alone: "c l", isKnownElsewhere: true },
    coproc: {},
    time: { value: "f o format output", alone: "a p v append portability verbose" },
    sudo: {
      value: "u g h p C D R T U r t user group host prompt close-from chdir chroot role type other-user",
      alone: "A b B E e H i K k l n P S s v preserve-env non-interactive login shell stdin background",
      assigns: true,
    },
    doas: { value: "u C", alone: "n s L" },
    pkexec: { value: "user", alone: "disable-internal-agent keep-cwd" },
    su: {
      value: "c g G s w command group shell",
      alone: "l m p f P login",
      texts: "c command session-command",
      operands: 1,
    },
    runuser: {
      value: "u c g G s command session-command user group shell",
      alone: "l m p f P login",
      texts: "c command session-command",
    },
    sg: { value: "c", texts: "c", operands: 1, holds: "first_text" },
    env: {
      value: "u C S unset chdir split-string",
      alone: "i 0 v null ignore-environment debug",
      assigns: true,
      texts: "S split-string",
      joinsTexts: true,
    },
    xargs: {
      value: "a d E I L n P s arg-file delimiter max-lines max-args max-procs max-chars replace",
      alone: "0 e i l o p r t x null no-run-if-empty interactive verbose exit open-tty",
    },
    parallel: { value: "j a I S n N jobs arg-file", alone: "k 0 m X", holds: "text" },
    timeout: { value: "k s kill-after signal", alone: "v foreground preserve-status verbose", operands: 1 },
    nice: { value: "n adjustment" },
    ionice: { value: "c n p class classdata pid", alone: "t" },
    chrt: { value: "p T P D", operands: 1 },
    taskset: { value: "p", alone: "a c", operands: 1 },
    stdbuf: { value: "i o e input output error" },
    chroot: { operands: 1 },
    flock: { value: "w E c timeout command", alone: "s x e u n o F", operands: 1, texts: "c command" },
    script: { value: "c command T I O B E o", texts: "c command", operands: 1 },
    faketime: { operands: 1 },
    watch: { value: "n interval q", alone: "b c d e g t x", holds: "text" },
    strace: { value: "e o p s u E P a O S", alone: "c C f F h q r t T v V x y" },
    ssh: {
      value: "b c D E e F I i J L l m O o p Q R S W w B",
      alone: "4 6 A a C f G g K k M N n q s T t V v X x Y y",
      operands: 1,
      holds: "text",
      settings: "o",
    },
    scp: { texts: "S", settings: "o", holds: "nothing", isKnownElsewhere: true },
    sftp: { texts: "S", settings: "o", holds: "nothing", isKnownElsewhere: true },
    rsync: { texts: "e rsh rsync-path", holds: "nothing", isKnownElsewhere: true },
    tar: {
      texts: "I F use-compress-program info-script new-volume-script to-command rsh-command",
      settings: "checkpoint-action",
      holds: "nothing",
      isKnownElsewhere: true,
    },
    git: { settings: "c", holds: "nothing", isKnownElsewhere: true },
    find: { actions: "exec execdir ok okdir", holds: "nothing", isKnownElsewhere: true },
    fd: { actions: "x X exec exec-batch -exec -exec-batch", holds: "nothing", isKnownElsewhere: true },
    entr: { alone: "a c d n p r s x z" },
    "docker exec": container,
    "docker run": container,
    "podman exec": container,
    "podman run": container,
    ...Object.fromEntries(
      "docker compose|docker container|podman compose|podman container|nerdctl compose|nerdctl container|uv tool"
        .split("|")
        .map((name) => [name, repeat]),
    ),
    "docker-compose exec": container,
    "docker-compose run": container,
    "nerdctl exec": container,
    "nerdctl run": container,
    "kubectl exec": pod,
    "kubectl run": pod,
    "kubectl debug": pod,
    "oc exec": pod,
    "lxc exec": { operands: 1 },
    "ip netns": { operands: 2 },
    "conda run": {},
    "mamba run": {},
    "mise exec": {},
    "mise x": {},
    "rbenv exec": {},
    "pyenv exec": {},
    "hatch run": {},
    "pdm run": {},
    "rye run": {},
    "rustup run": { operands: 1 },
    "perf stat": {},
    "perf record": {},
    "bun x": {},
    "npm exec": {},
    "npm x": {},
    "pnpm exec": {},
    "pnpm dlx": {},
    "yarn exec": {},
    "yarn dlx": {},
    "uv run": {},
    "poetry run": {},
    "bundle exec": {},
    "pipenv run": {},
    "git bisect": { operands: 1 },
    "git submodule": { operands: 1, holds: "text" },
    "git rebase": { value: "x exec onto s X", texts: "x exec", holds: "nothing" },
    "git filter-branch": {
      value: "tree-filter index-filter msg-filter env-filter commit-filter parent-filter tag-name-filter setup",
      texts: "tree-filter index-filter msg-filter env-filter commit-filter parent-filter tag-name-filter setup",
      holds: "nothing",
    },
  } satisfies Record<string, Wrapper>),
);

/** How a program, or a program with a subcommand, runs a command among its arguments. */
export function wrapperOf(name: string): Wrapper | undefined {
  return wrappers.get(name) ?? (/^ld-(?:linux|musl)[\w.-]*$/.test(name) ? anyOptions : undefined);
}

/** Whether a program exists to run another, so that its own name says nothing about what runs. */
export function isWrapper(name: string): boolean {
  const wrapper = wrapperOf(name);
  return wrapper !== undefined && wrapper.isKnownElsewhere !== true;
}
