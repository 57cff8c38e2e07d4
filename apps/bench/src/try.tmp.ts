import { startOwnPostgres } from "./own-postgres.ts";
import { startMeasuring } from "./measuring-process.ts";
const pg = await startOwnPostgres();
const names = process.argv[2].split(",");
const levels = process.argv[3].split(",").map(Number);
const windowMs = Number(process.argv[4] ?? 1500);
try {
for (const name of names) {
  const url = await pg.createDatabase(name);
  const p = startMeasuring(name as never);
  try {
  await p.ask({kind:"prepare", url}, "prepared");
  for (const atATime of levels) {
    const s = await p.ask({kind:"settings", atATime}, "settings");
    for (const setting of s.settings) {
      const t = performance.now();
      const m = await p.ask({kind:"measure", url, setting, atATime, windowMs}, "measured");
      const {runsPerSecond, effectMs, writeTransactionsPerRun, runs} = m.measured;
      console.log(name, atATime, JSON.stringify(setting), runsPerSecond.toFixed(1), "/s", effectMs.p50.toFixed(1), effectMs.p99.toFixed(1), "ms", writeTransactionsPerRun.toFixed(2), "tx", runs, "runs", ((performance.now()-t)/1000).toFixed(1)+"s");
    }
  }
  } catch (e) { console.log(name, e); }
  await p.stop();
}
} finally { await pg.remove(); }
