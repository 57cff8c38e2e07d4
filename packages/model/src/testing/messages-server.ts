import { createHmac, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { checkRequest, type RequestBody } from "./check-request.ts";
import { type Counted, createCache, tokensOf } from "./count-tokens.ts";

/** A block of an answer. `args` is sent as the text it is, in pieces. */
export type Said =
  | { readonly text: string }
  | { readonly think: string }
  | { readonly redacted: string }
  | { readonly use: string; readonly args: string; readonly id?: string };

/** What the server does with one request that it accepts. */
export type Answer =
  | {
      readonly say: readonly Said[];
      readonly stopReason?: string;
      /** Ends the stream after so many events: the connection breaks, ends in good order, or names an error. */
      readonly stopAfter?: { readonly events: number; readonly with: "break" | "end" | "overloaded_error" | "silence" };
    }
  | {
      readonly status: number;
      readonly type: string;
      readonly message?: string;
      readonly headers?: Record<string, string>;
    };

/** Answers from the request alone, so that it is the same whoever asks; `n` counts the requests that got this far. */
export type Script = (request: RequestBody, n: number) => Answer;

export interface MessagesServer {
  readonly url: string;
  /** The requests that the Messages API would have accepted, in order; those answered with an error too. */
  readonly requests: readonly RequestBody[];
  /** The same as the text that came. */
  readonly bodies: readonly string[];
  /** Why the others would have been refused. */
  readonly rejections: readonly string[];
  /** What each answer that was said to its end is charged for. */
  readonly charges: readonly Counted[];
  /** How many connections were closed by the client in mid-answer. */
  readonly aborted: () => number;
  close(): Promise<void>;
}

const path = "/v1/messages";

/** A server that speaks the Messages API, streaming only, and refuses what the real one refuses. */
export async function startMessagesServer(key: string, script: Script): Promise<MessagesServer> {
  const requests: RequestBody[] = [];
  const bodies: string[] = [];
  const rejections: string[] = [];
  const charges: Counted[] = [];
  const said = new Map<string, readonly object[]>();
  const count = createCache();
  let aborted = 0;

  function refuse(response: ServerResponse, status: number, type: string, message: string, headers = {}): void {
    response.writeHead(status, { "content-type": "application/json", "request-id": `req_${randomUUID()}`, ...headers });
    response.end(JSON.stringify({ type: "error", error: { type, message }, request_id: "req" }));
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const json = await readBody(request);
    const given = request.headers.authorization ?? `Bearer ${String(request.headers["x-api-key"])}`;
    if (given !== `Bearer ${key}`) return refuse(response, 401, "authentication_error", `invalid key ${given}`);
    if (request.url !== path || request.method !== "POST" || request.headers["anthropic-version"] === undefined)
      return refuse(response, 404, "not_found_error", "there is nothing here");
    const body = checkRequest(json, said);
    if (typeof body === "string") {
      rejections.push(body);
      return refuse(response, 400, "invalid_request_error", body);
    }
    bodies.push(json);
    const answer = script(body, requests.push(body) - 1);
    if ("status" in answer) return refuse(response, answer.status, answer.type, answer.message ?? "no", answer.headers);
    response.once("close", () => {
      if (!response.writableFinished && answer.stopAfter?.with !== "break") aborted += 1;
    });
    const content = answer.say.map((block) => contentOf(block));
    const usage = count(body);
    const output_tokens = tokensOf(content);
    const events = eventsOf(body.model, content, answer, { ...usage, output_tokens });
    response.writeHead(200, { "content-type": "text/event-stream", "request-id": `req_${randomUUID()}` });
    for (const event of events.slice(0, answer.stopAfter?.events)) {
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
      // One packet each, so that a client has to put them together.
      await new Promise((resolve) => setImmediate(resolve));
    }
    switch (answer.stopAfter?.with) {
      case "break":
        response.destroy();
        return;
      case "silence":
        return;
      case "end":
        break;
      case "overloaded_error":
        response.write(
          `event: error\ndata: ${JSON.stringify({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } })}\n\n`,
        );
        break;
      case undefined:
        charges.push({ ...usage, output_tokens });
        for (const block of content) if (block.type === "tool_use") said.set(block.id, thoughtsOf(content));
        break;
    }
    response.end();
  }

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      rejections.push(`the server failed: ${String(error)}`);
      response.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    bodies,
    rejections,
    charges,
    aborted: () => aborted,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

type Content =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "thinking"; readonly thinking: string; readonly signature: string }
  | { readonly type: "redacted_thinking"; readonly data: string }
  | { readonly type: "tool_use"; readonly id: string; readonly name: string; readonly args: string };

function contentOf(said: Said): Content {
  if ("text" in said) return { type: "text", text: said.text };
  if ("redacted" in said) return { type: "redacted_thinking", data: said.redacted };
  if ("use" in said)
    return {
      type: "tool_use",
      id: said.id ?? `toolu_${randomUUID().replaceAll("-", "")}`,
      name: said.use,
      args: said.args,
    };
  const signature = createHmac("sha256", "a key of the server's own").update(said.think).digest("base64");
  return { type: "thinking", thinking: said.think, signature };
}

function thoughtsOf(content: readonly Content[]): Content[] {
  return content.filter(({ type }) => type === "thinking" || type === "redacted_thinking");
}

type StreamEvent = { readonly type: string } & Record<string, unknown>;

function eventsOf(
  model: string,
  content: readonly Content[],
  answer: { stopReason?: string },
  usage: Counted,
): StreamEvent[] {
  const { output_tokens, ...input } = usage;
  const usesTools = content.some(({ type }) => type === "tool_use");
  return [
    {
      type: "message_start",
      message: {
        id: "msg",
        type: "message",
        role: "assistant",
        model,
        content: [],
        stop_reason: null,
        usage: { ...input, output_tokens: 1 },
      },
    },
    { type: "ping" },
    ...content.flatMap((block, index) => [
      { type: "content_block_start", index, content_block: emptyOf(block) },
      ...deltasOf(block).map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ]),
    {
      type: "message_delta",
      delta: { stop_reason: answer.stopReason ?? (usesTools ? "tool_use" : "end_turn"), stop_sequence: null },
      usage: { output_tokens, input_tokens: null, cache_creation_input_tokens: null, cache_read_input_tokens: null },
    },
    { type: "message_stop" },
  ];
}

function emptyOf(block: Content): object {
  switch (block.type) {
    case "text":
      return { type: "text", text: "" };
    case "thinking":
      return { type: "thinking", thinking: "", signature: "" };
    case "redacted_thinking":
      return block;
    case "tool_use":
      return { type: "tool_use", id: block.id, name: block.name, input: {} };
  }
}

function deltasOf(block: Content): object[] {
  switch (block.type) {
    case "text":
      return piecesOf(block.text).map((text) => ({ type: "text_delta", text }));
    case "thinking":
      return [
        ...piecesOf(block.thinking).map((thinking) => ({ type: "thinking_delta", thinking })),
        { type: "signature_delta", signature: block.signature },
      ];
    case "redacted_thinking":
      return [];
    case "tool_use":
      return ["", ...piecesOf(block.args)].map((partial_json) => ({ type: "input_json_delta", partial_json }));
  }
}

/** Pieces of seven characters; a surrogate pair stays whole, since an event is UTF-8. */
function piecesOf(text: string): readonly string[] {
  return text.match(/.{1,7}/gsu) ?? [];
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}
