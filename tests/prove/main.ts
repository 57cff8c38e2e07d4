import { parseArgs } from "node:util";
import { patchFunctions, patchModules } from "./broken/engines.ts";
import { startScratch } from "./scratch.ts";
import type { Report } from "./report.ts";

/** The proofs, run by hand: prints what was tried, and ends with 1 where anything did not hold. */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    /** Only so many points or orders, evenly spread. */
    sample: { type: "string" },
    /** Only these acts of the races, or this kind of point of the crash proof. */
    only: { type: "string" },
    /** Only messages of the crash proof of which this is a part. */
    at: { type: "string" },
    seed: { type: "string" },
    /** Where a failing sequence of the model is, as it was told. */
    path: { type: "string" },
    runs: { type: "string" },
    sequences: { type: "string" },
    /** How many pages each law of pages is tried on. */
    draws: { type: "string" },
    /** How often each of three writers edits one page. */
    rounds: { type: "string" },
    /** A folder of pages that somebody really wrote. */
    pages: { type: "string" },
    /** Breaks the engine in this known way first; the proof is then expected to fail. */
    broken: { type: "string" },
  },
});

const [proof = ""] = positionals;
const sample = values.sample === undefined ? undefined : Number(values.sample);
const seed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed);
const nodeOptions = values.broken === undefined ? "" : patchModules(values.broken);
const stopsEarly = values.broken !== undefined;

const proofs: Readonly<Record<string, (url: string) => Promise<Report>>> = {
  async crash(url) {
    const { proveCrash } = await import("./crash.ts");
    const only = (["worker", "server", "mail"] as const).find((target) => target === values.only);
    const points = values.sample === "commits" ? values.sample : sample;
    const onProgress = (text: string): void => console.log(text);
    return await proveCrash({ url, sample: points, only, at: values.at, stopsEarly, nodeOptions, onProgress });
  },
  async races(url) {
    const { proveRaces } = await import("./races.ts");
    const only = values.only?.split(",");
    return await proveRaces({ url, sample, only, stopsEarly });
  },
  async model(url) {
    const { proveModel } = await import("./model.ts");
    return await proveModel({ url, sequences: Number(values.sequences ?? 200), length: 120, seed, path: values.path });
  },
  async chaos(_url) {
    const { proveChaos } = await import("./chaos.ts");
    return await proveChaos({ runs: Number(values.runs ?? 2_000), seed, onProgress: (text) => console.log(text) });
  },
  async okf(url) {
    const { proveOkf } = await import("./okf.ts");
    const draws = Number(values.draws ?? 20_000);
    const rounds = Number(values.rounds ?? 2_000);
    return await proveOkf({ url, draws, rounds, seed, pages: values.pages, onProgress: (text) => console.log(text) });
  },
  async broken() {
    const { proveBroken } = await import("./broken.ts");
    return await proveBroken((text) => console.log(text));
  },
};

const prove = proofs[proof];
if (prove === undefined) throw new Error(`There is no proof ${proof}; there are: ${Object.keys(proofs).join(", ")}`);

const startedAt = performance.now();
const report = await proveOn(prove);
for (const violation of report.violations) console.log(`VIOLATION ${violation}`);
const counts = Object.entries(report.counts).map(([name, count]) => `${name} ${count}`);
const seconds = Math.round((performance.now() - startedAt) / 1_000);
console.log(`${proof}: ${counts.join(", ")}, violations ${report.violations.length}, ${seconds} s`);
process.exit(report.violations.length === 0 ? 0 : 1);

async function proveOn(one: (url: string) => Promise<Report>): Promise<Report> {
  // Those that start servers of their own need no other.
  if (proof === "chaos" || proof === "broken") return await one("");
  const scratch = await startScratch();
  try {
    if (values.broken !== undefined) await patchFunctions(scratch.url, values.broken);
    return await one(scratch.url);
  } finally {
    await scratch.stop();
  }
}
