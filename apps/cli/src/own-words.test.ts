import { expect, test } from "vitest";
import { inOwnWords } from "./own-words.ts";

test.each([
  [
    'There is no definition "x". GET /v1/definitions lists them.',
    'There is no definition "x". ./countersign defs ls lists them.',
  ],
  ["GET /v1/webhooks lists them.", "GET /v1/webhooks lists them."],
  ["Send If-Match, as GET /v1/definitions/1 shows it", "Send If-Match, as GET /v1/definitions/1 shows it"],
  ["json.capability: no tool requires it; query.limit: too large", "capability: no tool requires it; limit: too large"],
  ["json.spec.name: taken", "spec.name: taken"],
  ["the file data.json.name: is odd", "the file data.json.name: is odd"],
])("a refusal is said with verbs and without places of a request: %s", (detail, said) => {
  expect(inOwnWords(detail)).toBe(said);
});
