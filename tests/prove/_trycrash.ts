import { startScratch } from "./scratch.ts";
import { proveCrash } from "./crash.ts";
const s = await startScratch();
try {
const t = performance.now();
const r = await proveCrash({ url: s.url, sample: Number(process.argv[2] ?? 10), onProgress: console.log });
console.log(r.counts, r.violations.slice(0,10).join("\n----\n").slice(0, 6000), Math.round(performance.now() - t), "ms");
} finally { await s.stop(); }
process.exit();
