import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll } from "vitest";

/** Words that mean the same to the model of the tests; all others mean themselves. */
const meanings: readonly (readonly string[])[] = [
  ["car", "automobile", "vehicle", "auto"],
  ["doctor", "physician", "medic"],
  ["salary", "wage", "pay", "remuneration"],
  ["holiday", "vacation", "leave"],
];

/** What the endpoint answers in place of vectors. */
type Misbehaviour = (response: ServerResponse, texts: readonly string[]) => void;

export interface EmbeddingEndpoint {
  readonly url: string;
  /** The texts of each request, in the order in which they came. */
  readonly requests: string[][];
  /** The header of the last request. */
  authorization: string | undefined;
  /** How many numbers a vector has. */
  dims: number;
  /** Undefined answers as it should. */
  misbehave: Misbehaviour | undefined;
}

/** A server on this machine that speaks as OpenAI's `/embeddings`; it is closed after the file's last test. */
export async function startEmbeddingEndpoint(): Promise<EmbeddingEndpoint> {
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const endpoint: EmbeddingEndpoint = {
    url: `http://127.0.0.1:${port}/v1/embeddings`,
    requests: [],
    authorization: undefined,
    dims: 64,
    misbehave: undefined,
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { input } = JSON.parse(await readAll(request)) as { input: string[] };
    endpoint.requests.push(input);
    endpoint.authorization = request.headers.authorization;
    if (endpoint.misbehave !== undefined) return endpoint.misbehave(response, input);
    const data = input.map((text, index) => ({ object: "embedding", index, embedding: embed(text, endpoint.dims) }));
    // The order is not promised; the index says which is which.
    sendJson(response, 200, { object: "list", data: data.toReversed() });
  }

  afterAll(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  return endpoint;
}

/** Ends `response` with this status and body. */
export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

/** A direction for each meaning; a text is the sum of those of its words. What shares no meaning stands at right angles. */
export function embed(text: string, dims: number): number[] {
  const vector: number[] = Array.from({ length: dims }, () => 0);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) {
    const meant = meanings.find((words) => words.includes(word))?.[0] ?? word;
    const at = hash(meant) % dims;
    vector[at] = (vector[at] ?? 0) + 1;
  }
  // So that a text without words has a direction too.
  if (!vector.some((one) => one !== 0)) vector[0] = 1;
  return vector;
}

function hash(text: string): number {
  let state = 2_166_136_261;
  for (const unit of text) state = Math.imul(state ^ (unit.codePointAt(0) ?? 0), 16_777_619) >>> 0;
  return state;
}

async function readAll(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += String(chunk);
  return text;
}
