import { connect } from "@countersign/db/connect.ts";
import { createEmbedder } from "@countersign/kb/embeddings.ts";
import { pino } from "pino";
import { keepVectors } from "../keep-vectors.ts";

/** A program that gives pages of a database vectors from an endpoint, until it is killed. */
const [databaseUrl, endpointUrl] = process.argv.slice(2);
if (databaseUrl === undefined || endpointUrl === undefined)
  throw new Error("Usage: embed-until-killed.ts <database> <endpoint>");
keepVectors({
  sql: connect(databaseUrl, { max: 1 }),
  embedder: createEmbedder({ url: endpointUrl, model: "words" }),
  log: pino({ level: "warn" }),
  lookMs: 10,
});
