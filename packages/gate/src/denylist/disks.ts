import { isInSystemFolder, isRawDisk, isRawMemory, normalizePath, pathsIn } from "./paths.ts";
import { anyOf, type CommandPattern, type FilePattern, hasOption, type ReadCommand } from "./pattern.ts";

const writers = new Set(["tee", "cp", "mv", "install", "ddrescue", "pv", "truncate", "badblocks", "ln"]);
const readers = new Set(
  "cat dd head tail xxd od hexdump strings cp less more base64 grep sha256sum md5sum nc scp rsync gzip tar pv ddrescue".split(
    " ",
  ),
);
const partitioners = new Set(["fdisk", "sfdisk", "cfdisk", "gdisk", "sgdisk", "cgdisk", "parted"]);

/** Disks as a whole, and memory. */
export const disks: readonly CommandPattern[] = [
  {
    name: "make-filesystem",
    reason: "formats a disk",
    fits: ({ name }) => /^mkfs(?:\.|$)/.test(name) || ["mke2fs", "mkswap", "newfs", "mkdosfs", "mkntfs"].includes(name),
  },
  {
    name: "wipe-signatures",
    reason: "erases a disk, or what says what is on it",
    fits: (command) =>
      ["wipefs", "blkdiscard"].includes(command.name) ||
      (command.name === "hdparm" && command.args.some((arg) => arg.startsWith("--security-erase"))) ||
      (command.name === "nvme" && ["format", "sanitize"].includes(command.args[0] ?? "")),
  },
  {
    name: "partition-table",
    reason: "changes how a disk is divided",
    fits: (command) =>
      partitioners.has(command.name) &&
      !hasOption(command, "ldp", "list", "dump", "print") &&
      !command.args.includes("print"),
  },
  {
    name: "volume-destroy",
    reason: "destroys a volume, or the key to it",
    fits: ({ name, args }) =>
      ["lvremove", "vgremove", "pvremove"].includes(name) ||
      (["zpool", "zfs"].includes(name) && args[0] === "destroy") ||
      (name === "mdadm" && args.some((arg) => ["--zero-superblock", "--stop", "-S"].includes(arg))) ||
      (name === "cryptsetup" && args.some((arg) => /^(?:luksFormat|luksErase|erase|reencrypt)$/.test(arg))),
  },
  {
    name: "dd-to-device",
    reason: "overwrites a disk",
    fits: ({ name, args }) => name === "dd" && args.some((arg) => arg.startsWith("of=") && isRawDisk(arg.slice(3))),
  },
  {
    name: "raw-disk-write",
    reason: "writes to a disk past its file system",
    fits: (command) => writers.has(command.name) && command.paths.some(isRawDisk),
  },
  {
    name: "raw-disk-read",
    reason: "reads a disk past its file system",
    fits: ({ name, args }) =>
      readers.has(name) && args.some((arg) => !arg.startsWith("of=") && pathsIn(arg).some(isRawDisk)),
  },
  {
    name: "raw-memory",
    reason: "reads or writes the memory of the system or another process",
    fits: (command) => command.name !== "ls" && mentions(command, isRawMemory),
  },
];

export const diskFiles: readonly FilePattern[] = [
  {
    name: "raw-disk-write",
    reason: "writes to a disk past its file system",
    fits: (path, isWrite) => isWrite && isRawDisk(path),
  },
  {
    name: "raw-disk-read",
    reason: "reads a disk past its file system",
    fits: (path, isWrite) => !isWrite && isRawDisk(path),
  },
  { name: "raw-memory", reason: "reads or writes the memory of the system or another process", fits: isRawMemory },
  {
    name: "system-folder-write",
    reason: "changes what stands in a folder of the system",
    fits: (path, isWrite) => isWrite && isInSystemFolder(path),
  },
  {
    name: "sysrq",
    reason: "gives an order to the kernel",
    fits: (path, isWrite) => isWrite && normalizePath(path) === "/proc/sysrq-trigger",
  },
  {
    name: "kernel-setting",
    reason: "changes a setting of the kernel",
    fits: (path, isWrite) => isWrite && normalizePath(path).startsWith("/proc/sys/"),
  },
  {
    name: "tcp-device",
    reason: "opens a connection from the shell itself",
    fits: (path) => /^\/dev\/(?:tcp|udp)\//.test(normalizePath(path)),
  },
];

function mentions({ name, paths }: ReadCommand, fits: (path: string) => boolean): boolean {
  return !["echo", "printf"].includes(name) && paths.some(fits);
}

export const kernel: readonly CommandPattern[] = [
  {
    name: "sysrq",
    reason: "gives an order to the kernel",
    fits: (command) => mentions(command, (path) => path === "/proc/sysrq-trigger"),
  },
  { name: "kexec", reason: "starts another kernel", fits: anyOf("kexec") },
  {
    name: "kernel-module",
    reason: "changes what the kernel can do",
    fits: anyOf("insmod", "rmmod", "modprobe", "kldload"),
  },
  {
    name: "kernel-setting",
    reason: "changes a setting of the kernel",
    fits: (command) =>
      command.name === "sysctl" &&
      (hasOption(command, "wp", "write", "load", "system") || command.args.some((arg) => arg.includes("="))),
  },
];
