import { hostileCommands } from "@countersign/gate/shell/testing/hostile-commands.ts";
import { unitsOfCommand } from "@countersign/gate/shell/units.ts";

/** 200 characters of ordinary work, and what is hard on a parser at the size that is still accepted. */
const ordinary =
  "git fetch origin && git log --oneline -n 20 HEAD..origin/main | head -n 5; if test -f package.json; then npm test 2>&1 | tail -n 40; else echo 'nothing to test here' > /dev/null; fi && git status --short";

function medianMs(command: string, times: number): number {
  const took = Array.from({ length: times }, () => {
    const beganAt = process.cpuUsage();
    unitsOfCommand(command);
    const { user, system } = process.cpuUsage(beganAt);
    return (user + system) / 1_000;
  });
  return took.toSorted((a, b) => a - b)[Math.floor(times / 2)] ?? 0;
}

medianMs(ordinary, 500);
console.log(`${ordinary.length} characters of ordinary work: ${medianMs(ordinary, 1_000).toFixed(3)} ms`);
for (const [what, make] of Object.entries(hostileCommands)) {
  const command = make(8_192).slice(0, 8_192);
  console.log(`8 KB of ${what}: ${medianMs(command, 11).toFixed(1)} ms`);
}
