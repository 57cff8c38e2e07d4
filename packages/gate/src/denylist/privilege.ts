import { anyOf, type CommandPattern, operandsOf } from "./pattern.ts";

/** Setuid, as letters or digits, anywhere in a list of modes. */
const setuidMode = /(?:^|,)(?:[ugoa]*(?:[+=-][rwxXtugo]*)*[+=][rwxXt]*s|[+=]?0*[4-7][0-7]{3}$)/;

/** Becoming somebody else. */
export const privilege: readonly CommandPattern[] = [
  { name: "sudo", reason: "runs a command as another user", fits: anyOf("sudo", "sudoedit", "sudo-rs") },
  { name: "su", reason: "becomes another user", fits: anyOf("su") },
  { name: "doas", reason: "runs a command as another user", fits: anyOf("doas") },
  { name: "pkexec", reason: "runs a command as another user", fits: anyOf("pkexec", "run0") },
  {
    name: "switch-user",
    reason: "runs a command as another user or group",
    fits: anyOf("runuser", "setpriv", "gosu", "su-exec", "sg", "newgrp"),
  },
  {
    name: "setuid-bit",
    reason: "lets a program run with its owner's rights, whoever starts it",
    fits: (command) =>
      (command.name === "chmod" &&
        operandsOf(command)
          .slice(0, 1)
          .some((mode) => setuidMode.test(mode))) ||
      (command.name === "install" && command.args.some((arg) => /^(?:-m|--mode=)?0*[4-7][0-7]{3}$/.test(arg))),
  },
  { name: "file-capabilities", reason: "gives a program rights of the system's own", fits: anyOf("setcap") },
  { name: "enter-namespace", reason: "leaves or enters a container", fits: anyOf("nsenter", "unshare") },
];
