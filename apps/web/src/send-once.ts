/*
 * What is sent to make, change or decide something has a key, and the same one when it is sent again before an answer came:
 * the server does it once. After an answer the same thing may be meant anew, and has another.
 */

/** For how long somebody may come back to what was not answered and still mean the same. */
const keptMs = 15 * 60_000;

interface Sent {
  readonly text: string;
  readonly key: string;
  readonly at: number;
}

/** The last request to each address that was not answered. */
const unanswered = new Map<string, Sent>();

const sentFor = new WeakMap<object, () => void>();

/** As `fetch`, with the key of what is sent. `settle` says that its answer came. */
export async function sendOnce(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
  const { method = "GET", body } = init;
  if (method !== "POST" && method !== "PATCH") return await fetch(input, init);
  const headers = new Headers(init.headers);
  const address = `${method} ${input instanceof Request ? input.url : String(input)}`;
  const text = JSON.stringify([headers.get("if-match"), typeof body === "string" ? body : null]);
  const before = unanswered.get(address);
  const isAgain = before?.text === text && Date.now() - before.at < keptMs;
  const sent = { text, key: isAgain ? before.key : randomKey(), at: Date.now() };
  unanswered.set(address, sent);
  headers.set("idempotency-key", sent.key);
  const response = await fetch(input, { ...init, headers });
  sentFor.set(response, () => {
    if (unanswered.get(address)?.key === sent.key) unanswered.delete(address);
  });
  return response;
}

/** What this response answers is done or refused for good. */
export function settle(response: object): void {
  sentFor.get(response)?.();
}

/** Of 128 bits. Over plain HTTP, under another name than localhost, a browser has no `randomUUID`. */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
