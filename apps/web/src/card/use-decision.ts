import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api, type Approval, ask, NoAnswer, Refused } from "../api.ts";
import { readTaskAnew } from "../queries.ts";

/** What a person says of an approval. */
export interface Said {
  readonly answer: "approve" | "deny" | "done" | "retry" | "give_up";
  readonly feedback?: string;
  readonly note?: string;
  readonly selectedOption?: string;
  readonly editedArgs?: string;
  readonly equal?: boolean;
  readonly remember?: {
    readonly scope: "run" | "definition" | "workspace";
    readonly units?: string[] | "all";
  };
}

/**
 * Sends a decision on exactly what the card shows. Afterwards what is shown is read anew, whatever came of it: only the
 * server's row says how an approval stands. One decision is one key, so that sending it again after a lost answer decides
 * once.
 */
export function useDecision(approval: Approval) {
  const client = useQueryClient();

  return useMutation({
    mutationFn: async (said: Said) => {
      return await ask(
        api.approvals[":id"].decision.$post({
          param: { id: approval.id },
          header: { "if-match": `"${approval.version}"` },
          json: { ...withoutEmpty(said), argsDigest: approval.argsDigest },
        }),
      );
    },
    retry: (count, error) => isWorthRepeating(error) && count < 2,
    retryDelay: 800,
    onSettled: (_, error) => readTaskAnew(client, approval.taskId, error),
  });
}

function withoutEmpty(said: Said): Said {
  return Object.fromEntries(
    Object.entries(said).filter(([, value]) => value !== undefined && value !== ""),
  ) as unknown as Said;
}

/** Not answered, or still being worked on: the same key finds out what became of it. */
function isWorthRepeating(error: Error): boolean {
  if (error instanceof NoAnswer) return true;
  return error instanceof Refused && ["in_flight", "busy", "database_unavailable"].includes(error.problem.code);
}
