import { expect, test } from "vitest";
import { proveChaos } from "./chaos.ts";

test(
  "DU21, DU22, DU24, DU38: while the database, the processes and the ways between them fail, no run is lost and no mail is sent twice (a short prove:chaos)",
  { timeout: 240_000 },
  async () => {
    const { violations } = await proveChaos({ runs: 100, seed: 1 });
    expect(violations).toEqual([]);
  },
);
