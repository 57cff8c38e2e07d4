import { startScratch } from "./scratch.ts";
import { proveModel } from "./model.ts";
const s = await startScratch();
try {
const t = performance.now();
const r = await proveModel({ url: s.url, sequences: Number(process.argv[2] ?? 20), length: 120, seed: Number(process.argv[3] ?? Date.now() % 1e9) });
console.log(r.counts, r.violations.join("\n----\n").slice(0, 6000), Math.round(performance.now() - t), "ms");
} finally { await s.stop(); }
