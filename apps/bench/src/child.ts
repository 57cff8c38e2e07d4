import { connect } from "@countersign/db/connect.ts";
import { readConfig } from "./config.ts";
import type { Contestant, Setting } from "./contestant.ts";
import { type ContestantName, loadContestant } from "./contestants.ts";
import { type Effects, measure, type Measured } from "./measure.ts";

/** What a process that measures one contestant is asked. */
export type Ask =
  | { readonly kind: "prepare"; readonly url: string }
  | { readonly kind: "settings"; readonly atATime: number }
  | {
      readonly kind: "measure";
      readonly url: string;
      readonly setting: Setting;
      readonly atATime: number;
      readonly windowMs: number;
    };

/** And what it answers. */
export type Answer =
  | { readonly kind: "prepared" }
  | { readonly kind: "absent" }
  | { readonly kind: "settings"; readonly settings: readonly Setting[] }
  | { readonly kind: "measured"; readonly measured: Measured }
  | { readonly kind: "failed"; readonly message: string };

/** A process of its own for one contestant, so that no other's timers and memory weigh on it, and warm from round to round. */
const contestant = await loadContestant(process.argv[2] as ContestantName, readConfig());

// Whoever asked is gone.
process.on("disconnect", () => process.exit());
process.on("message", (ask: Ask) => {
  answer(ask).then(
    (reply) => process.send?.(reply),
    (error: unknown) =>
      process.send?.({
        kind: "failed",
        message: error instanceof Error ? (error.stack ?? error.message) : String(error),
      }),
  );
});

async function answer(ask: Ask): Promise<Answer> {
  if (contestant === undefined) return { kind: "absent" };
  switch (ask.kind) {
    case "prepare":
      await prepare(contestant, ask.url);
      return { kind: "prepared" };
    case "settings":
      return { kind: "settings", settings: contestant.settings(ask.atATime) };
    case "measure":
      return { kind: "measured", measured: await measureOnce(contestant, ask) };
  }
}

async function prepare(contestant: Contestant, url: string): Promise<void> {
  const sql = connect(url, { max: 1 });
  await sql`create extension if not exists pg_stat_statements`;
  await sql`create extension if not exists pg_walinspect`;
  await sql.end();
  await contestant.prepare(url);
}

/** What the round before left behind is vacuumed and written out first, so that it is not on this one's account. */
async function measureOnce(contestant: Contestant, ask: Extract<Ask, { kind: "measure" }>): Promise<Measured> {
  const sql = connect(ask.url, { max: 1, applicationName: "bench measure" });
  await sql.unsafe("vacuum analyze").simple();
  await sql.unsafe("checkpoint");
  const effects: Effects = { heard: () => undefined };
  const opened = await contestant.open(ask.url, ask.setting, (id) => effects.heard(id));
  try {
    return await measure(sql, opened, ask, effects);
  } finally {
    await opened.close();
    await sql.end();
  }
}
