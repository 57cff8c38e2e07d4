import { type CommandPattern, hasOption } from "./pattern.ts";

/** A shell for somebody at the other end of a connection. */
export const network: readonly CommandPattern[] = [
  {
    name: "network-shell",
    reason: "gives a shell to the other end of a connection",
    fits: (command) =>
      (["nc", "ncat", "netcat"].includes(command.name) && hasOption(command, "ec", "exec", "sh-exec", "lua-exec")) ||
      (command.name === "socat" && command.args.some((arg) => /(?:^|,)(?:exec|system|shell):/i.test(arg))),
  },
  {
    name: "tcp-device",
    reason: "opens a connection from the shell itself",
    fits: ({ name, args }) =>
      !["echo", "printf"].includes(name) && args.some((arg) => /\/dev\/(?:tcp|udp)\/[^/\s]+\/\w/.test(arg)),
  },
];
