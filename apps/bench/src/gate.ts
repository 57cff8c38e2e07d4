import { gateCases, measureGate } from "./gate-speed.ts";

for (const one of gateCases) {
  measureGate(500, one);
  const perSecond = Math.round(measureGate(2_000, one));
  console.log(`${perSecond.toLocaleString("en")} verdicts/s: ${one.name}`);
}
