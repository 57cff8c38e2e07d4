import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Sql, Tx } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { type CheckedLayer, readPolicyDocument } from "@countersign/gate/policy-document.ts";
import { configureApp } from "./commits/configure-app.ts";
import { appScope, type Author } from "./commits/kill-scope.ts";
import { setDial } from "./commits/set-dial.ts";
import { setRules } from "./commits/set-rules.ts";
import { EngineError } from "./engine-error.ts";
import { changesTo, coversOf } from "./rule-changes.ts";
import { readWrittenRules } from "./read-rules.ts";
import type { Tools } from "./tools.ts";

const author: Author = { userId: undefined, way: "configuration" };

/**
 * Takes the app's layer of policy from a configuration file, in one commit: afterwards the layer says what the file says
 * and nothing else, and where that is a change its policy version has moved. A file that was taken in before changes
 * nothing. Throws `invalid_policy`, and leaves the layer as it is, where anything is wrong with the file: every problem
 * with its line.
 */
export async function loadAppPolicy(sql: Sql, file: string, tools: Tools): Promise<"configured" | "unchanged"> {
  const text = readFile(file);
  const checked = readPolicyDocument(text, { tools: [...tools.values()].map(({ tool }) => tool) }, "app");
  if (checked.kind === "refused") {
    const problems = checked.problems.map(({ line, path, problem }) => `  line ${line}: ${path}: ${problem}`);
    throw new EngineError(
      "invalid_policy",
      `The policy file ${file} is not in order, so none of it was taken in:\n${problems.join("\n")}`,
    );
  }
  const hash = createHash("sha256").update(text).digest("hex");
  return await transaction(sql, async (tx) => await takeIn(tx, checked.layer, hash, tools));
}

function readFile(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new EngineError("invalid_policy", `The policy file ${file} cannot be read: ${why}`, { cause: error });
  }
}

async function takeIn(tx: Tx, layer: CheckedLayer, hash: string, tools: Tools): Promise<"configured" | "unchanged"> {
  const [before] = await tx.unsafe<{ configuration_hash: string | null }[]>(
    "select configuration_hash from policies where scope_id = $1::uuid for no key update",
    [appScope.scopeId],
    { prepare: true },
  );
  if (before?.configuration_hash === hash) return "unchanged";
  const written = await readWrittenRules(tx, appScope.scopeId);
  await setRules(
    tx,
    appScope,
    author,
    changesTo(written, layer.rules, (target) => coversOf(target, tools)),
  );
  await setDial(tx, appScope, author, { dial: layer.dial ?? null, approvalPolicy: layer.approvalPolicy ?? null });
  await configureApp(tx, { hash, softened: layer.denylistSoftened });
  return "configured";
}
