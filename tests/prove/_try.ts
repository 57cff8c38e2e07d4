import { startScratch } from "./scratch.ts";
import { proveRaces } from "./races.ts";
const s = await startScratch();
try {
const t = performance.now();
const r = await proveRaces({ url: s.url, sample: Number(process.argv[2] ?? 100) });
console.log(r.counts, r.violations.slice(0, 6).join("\n----\n"), r.violations.length, Math.round(performance.now() - t), "ms");
} finally { await s.stop(); }
