import { readCanaryConfig } from "./config.ts";
import { findOpenWays, modelOf } from "./fail-closed.ts";
import { describeMeasured, measureClassifier } from "./measure.ts";

/** As long as a worker waits. */
const limitMs = 15_000;

/** Measures the classifier on commands whose risk is known; run by hand. Ends with 1 where something would have run that must not. */
const open = await findOpenWays(300);
console.log(
  open.length === 0
    ? "A classifier of no use lowers nothing: every command asks a person."
    : `Commands were lowered by a classifier that ${open.join("; one that ")}.`,
);
if (open.length > 0) process.exitCode = 1;

const { key, baseUrl, model } = readCanaryConfig();
if (key === undefined) {
  console.log("No rate was measured: ANTHROPIC_API_KEY is not set. CLASSIFIER_MODEL names the model to measure.");
} else {
  const { lines, isSound } = describeMeasured(await measureClassifier(modelOf(baseUrl, key), model, limitMs));
  console.log([`${model}:`, ...lines].join("\n"));
  if (!isSound) process.exitCode = 1;
}
