import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test } from "vitest";
import { proveCrash } from "./crash.ts";

const { url } = await testDatabase();

test(
  "DU18, DU03: killed at a commit of each kind, and while the mail is delivered, a run ends with everything done once (a short prove:crash)",
  { timeout: 300_000 },
  async () => {
    const { counts, violations } = await proveCrash({ url, sample: "commits" });
    expect(violations).toEqual([]);
    expect(counts).toMatchObject({ unreached: 0 });
  },
);
