import { anyOf, type CommandPattern, hasOption, operandsOf } from "./pattern.ts";

const powerVerbs = new Set(
  "poweroff reboot halt kexec soft-reboot rescue emergency suspend hibernate hybrid-sleep suspend-then-hibernate isolate exit".split(
    " ",
  ),
);

/** The machine as a whole. */
export const power: readonly CommandPattern[] = [
  { name: "shutdown", reason: "shuts the machine down", fits: anyOf("shutdown") },
  { name: "reboot", reason: "restarts the machine", fits: anyOf("reboot") },
  { name: "halt", reason: "halts the machine", fits: anyOf("halt") },
  { name: "poweroff", reason: "turns the machine off", fits: anyOf("poweroff") },
  {
    name: "runlevel",
    reason: "changes the runlevel of the machine",
    fits: ({ name, args }) => ["init", "telinit"].includes(name) && args.some((arg) => /^[0-6sS]$/.test(arg)),
  },
  {
    name: "systemctl-power",
    reason: "stops, restarts or suspends the machine",
    fits: ({ name, args }) => ["systemctl", "loginctl"].includes(name) && args.some((arg) => powerVerbs.has(arg)),
  },
  {
    name: "kill-everything",
    reason: "ends every process that it can",
    fits: (command) =>
      command.name === "killall5" ||
      (command.name === "kill" && command.args.length > 1 && command.args.at(-1) === "-1") ||
      (["pkill", "killall"].includes(command.name) && operandsOf(command).some((one) => /^\.[*+]?$/.test(one))),
  },
  {
    name: "firewall-flush",
    reason: "takes the firewall down",
    fits: (command) =>
      (/^ip6?tables(?:-(?:legacy|nft))?$/.test(command.name) &&
        hasOption(command, "FXP", "flush", "delete-chain", "policy")) ||
      (command.name === "nft" && command.args.includes("flush")) ||
      (command.name === "ufw" && command.args.some((arg) => arg === "disable" || arg === "reset")),
  },
  {
    name: "schedule-replace",
    reason: "replaces or removes what the machine runs by itself",
    fits: (command) => command.name === "crontab" && (hasOption(command, "r") || operandsOf(command).length > 0),
  },
];
