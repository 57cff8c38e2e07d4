import type { BenchConfig } from "./config.ts";
import type { Contestant } from "./contestant.ts";

/** How each is told apart, in the database's name too. */
export const contestantNames = ["countersign", "http", "dbos", "absurd", "openworkflow", "langgraph"] as const;

export type ContestantName = (typeof contestantNames)[number];

/** Loads one contestant, with nothing of the others. Undefined where what it needs is not at hand. */
export async function loadContestant(name: ContestantName, config: BenchConfig): Promise<Contestant | undefined> {
  switch (name) {
    case "countersign":
      return (await import("./ours.ts")).ours;
    case "http":
      return (await import("./ours-over-http.ts")).createOursOverHttp(config.environment);
    case "dbos":
      return (await import("./peers/dbos.ts")).dbos;
    case "absurd":
      return config.absurdSql === undefined
        ? undefined
        : (await import("./peers/absurd.ts")).createAbsurd(config.absurdSql);
    case "openworkflow":
      return (await import("./peers/openworkflow.ts")).openworkflow;
    case "langgraph":
      return (await import("./peers/langgraph.ts")).langgraph;
  }
}
