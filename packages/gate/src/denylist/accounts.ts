import { isInterpreter } from "../shell/programs.ts";
import { mayBeFile, pathsIn } from "./paths.ts";
import { anyOf, type CommandPattern, type FilePattern, type ReadCommand } from "./pattern.ts";

interface Guarded {
  readonly name: string;
  readonly reason: string;
  readonly files: readonly string[];
  readonly folder?: string;
}

const guarded: readonly Guarded[] = [
  {
    name: "passwd-file",
    reason: "reads, copies or writes the list of users",
    files: ["/etc/passwd", "/etc/passwd-", "/etc/master.passwd"],
  },
  {
    name: "shadow-file",
    reason: "reads, copies or writes the users' password hashes",
    files: ["/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-"],
  },
  {
    name: "sudoers-file",
    reason: "reads, copies or writes who may become root",
    files: ["/etc/sudoers"],
    folder: "/etc/sudoers.d",
  },
];

const sshKey = /(?:^|\/)\.ssh\/(?:id_[^/]*(?<!\.pub)|identity|authorized_keys2?|\*)$/;
const sshPrograms = new Set(["ssh", "scp", "sftp", "ssh-add", "ssh-keygen", "ssh-copy-id", "rsync", "git"]);

/** Who may log in, and as whom. */
export const accounts: readonly CommandPattern[] = [
  ...guarded.map((one): CommandPattern => ({
    name: one.name,
    reason: one.reason,
    fits: (command) => touches(command, one),
  })),
  {
    name: "ssh-keys",
    reason: "reads a private key, or changes who may log in with one",
    fits: ({ name, paths }) =>
      !sshPrograms.has(name) &&
      !["echo", "printf", "ls", "stat"].includes(name) &&
      paths.some((path) => sshKey.test(path)),
  },
  { name: "password-change", reason: "changes a password", fits: anyOf("passwd", "chpasswd", "gpasswd", "chage") },
  {
    name: "account-change",
    reason: "creates, changes or removes users or groups",
    fits: anyOf(..."useradd adduser userdel deluser usermod groupadd addgroup groupdel delgroup groupmod".split(" ")),
  },
  { name: "account-files-edit", reason: "edits the files of users or of sudo", fits: anyOf("visudo", "vipw", "vigr") },
];

export const accountFiles: readonly FilePattern[] = [
  ...guarded.map((one): FilePattern => ({
    name: one.name,
    reason: one.reason,
    fits: (path) => pathsIn(path).some((candidate) => isOneOf(candidate, one)),
  })),
  {
    name: "ssh-keys",
    reason: "reads a private key, or changes who may log in with one",
    fits: (path) => pathsIn(path).some((candidate) => sshKey.test(candidate)),
  },
];

/** What only prints its arguments does not touch the files they name; what runs its arguments may name them anywhere. */
function touches({ name, args, paths }: ReadCommand, one: Guarded): boolean {
  if (name === "echo" || name === "printf") return false;
  if (paths.some((path) => isOneOf(path, one))) return true;
  return isInterpreter(name) && args.some((arg) => one.files.some((file) => containsFile(arg, file)));
}

function isOneOf(path: string, { files, folder }: Guarded): boolean {
  if (files.some((file) => mayBeFile(path, file))) return true;
  return folder !== undefined && (path === folder || path.startsWith(`${folder}/`));
}

/** The path stands in the text, and no longer path begins with it. */
function containsFile(text: string, file: string): boolean {
  const at = text.indexOf(file);
  return at !== -1 && !/[\w.]/.test(text[at + file.length] ?? "");
}
