import type { Sql } from "@countersign/db/connect.ts";
import { countEmbedded } from "@countersign/kb/due-pages.ts";
import { createEmbedder } from "@countersign/kb/embeddings.ts";
import { chooseEmbeddings } from "@countersign/kb/embeddings-settings.ts";
import { readVectorSupport } from "@countersign/kb/vector-index.ts";
import type { Finding } from "./finding.ts";

const about = "vectors";
const answerWithinMs = 5_000;

/**
 * Whether a search can go by meaning, as far as this environment says: the extension, the endpoint, and how many pages have
 * their vectors. Sends the endpoint one word that is nobody's.
 */
export async function checkVectors(
  sql: Sql,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Finding[]> {
  const choice = chooseEmbeddings(environment);
  if (choice.kind === "off")
    return [{ about, state: "ok", found: "off, since COUNTERSIGN_EMBEDDINGS_URL is not set; a search goes by words" }];
  if (choice.kind === "refused")
    return choice.problems.map(({ variable, message }) => ({ about, state: "bad", found: `${variable}: ${message}` }));
  return [await checkExtension(sql), ...(await checkEndpoint(sql, choice.settings))];
}

async function checkExtension(sql: Sql): Promise<Finding> {
  const support = await readVectorSupport(sql);
  if (support.kind === "ready") return { about, state: "ok", found: `the database has pgvector ${support.version}` };
  return { about, state: "warn", found: support.reason, advice: support.advice };
}

async function checkEndpoint(sql: Sql, settings: Parameters<typeof createEmbedder>[0]): Promise<Finding[]> {
  const { model } = settings;
  const outcome = await createEmbedder(settings).embed(["countersign"], { timeoutMs: answerWithinMs });
  const { pages, embedded, refused } = await countEmbedded(sql, model);
  const counted = `${embedded} of ${pages} pages have vectors of ${model}`;
  const [vector] = outcome.kind === "embedded" ? outcome.vectors : [];
  return [
    vector === undefined
      ? {
          about,
          state: "warn",
          found: outcome.kind === "embedded" ? "the endpoint of embeddings answered nothing" : outcome.reason,
          advice: "Look at COUNTERSIGN_EMBEDDINGS_URL, _MODEL and _KEY; until it answers, a search goes by words.",
        }
      : { about, state: "ok", found: `the endpoint answers ${vector.length} numbers for ${model}` },
    refused === 0
      ? { about, state: "ok", found: counted }
      : {
          about,
          state: "warn",
          found: `${counted}; the endpoint refused the text of ${refused}`,
          advice: "Take a model that reads 512 tokens or more; they are tried again within the hour.",
        },
  ];
}
