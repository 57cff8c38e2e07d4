import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { afterAll, expect, test } from "vitest";
import { post, type PostOptions } from "./post.ts";

const never = new AbortController().signal;

/** Answers whatever it is sent with these bytes and says no more; `closed` settles when the other side has gone. */
async function startReceiver(answer: string, isCut = false): Promise<{ url: string; closed: Promise<unknown> }> {
  const closed = Promise.withResolvers<void>();
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("close", () => closed.resolve());
    socket.once("data", () => (isCut ? socket.end(answer) : socket.write(answer)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  afterAll(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, closed: closed.promise };
}

const send = async (url: string, over: Partial<PostOptions> = {}) =>
  await post(url, {}, "{}", { mayBePrivate: true, timeoutMs: 30_000, signal: never, ...over });

test.each([
  ["with the upgrade named", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"],
  ["with none named", "HTTP/1.1 101 Switching Protocols\r\n\r\n"],
])("a receiver that switches protocols, %s, has answered 101, and is left", async (_how, answer) => {
  const receiver = await startReceiver(answer);
  expect(await send(receiver.url)).toEqual({ kind: "answered", status: 101 });
  await receiver.closed;
});

test.each([
  ["never ends", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", false],
  ["is cut", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc", true],
  ["is too long", `HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n${"x".repeat(200_000)}`, false],
])(
  "an answer counts by its status, also where its body %s, and the body is not waited for",
  async (_how, answer, isCut) => {
    const receiver = await startReceiver(answer, isCut);
    const stopping = new AbortController();
    expect(await send(receiver.url, { signal: stopping.signal })).toEqual({ kind: "answered", status: 200 });
    stopping.abort();
    await receiver.closed;
  },
);

test("a body that never ends is let go of when the time is over", async () => {
  const receiver = await startReceiver("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
  expect(await send(receiver.url, { timeoutMs: 1_000 })).toEqual({ kind: "answered", status: 200 });
  await receiver.closed;
});

test.each([
  ["silence", ""],
  ["news of what is to come without end", "HTTP/1.1 102 Processing\r\n\r\n".repeat(100)],
  ["half a head", "HTTP/1.1 200 OK\r\nX-A: "],
])("%s is no answer, and the attempt is over in time", async (_how, answer) => {
  const receiver = await startReceiver(answer);
  expect(await send(receiver.url, { timeoutMs: 200 })).toEqual({ kind: "failed", failure: "no answer within 200 ms" });
  await receiver.closed;
});

test("a connection that closes without an answer is a failure at once", async () => {
  const receiver = await startReceiver("HTTP/1.1 100 Continue\r\n\r\n", true);
  expect(await send(receiver.url)).toEqual({ kind: "failed", failure: "no connection (ECONNRESET)" });
});

test("the look-up of a name is part of the time, and what is found after it is sent nothing", async () => {
  const receiver = await startReceiver("HTTP/1.1 204 No Content\r\n\r\n");
  const found = Promise.withResolvers<{ address: string; family: number }[]>();
  const name = receiver.url.replace("127.0.0.1", "slow.example");
  const resolve = async () => await found.promise;
  const outcome = await send(name, { timeoutMs: 100, resolve });
  expect(outcome).toEqual({ kind: "failed", failure: "no answer within 100 ms" });
  const stopping = new AbortController();
  const stopped = send(name, { signal: stopping.signal, resolve });
  stopping.abort();
  expect(await stopped).toEqual({ kind: "failed", failure: "broken off: the worker stopped" });
  let isReached = false;
  void receiver.closed.then(() => (isReached = true));
  found.resolve([{ address: "127.0.0.1", family: 4 }]);
  const other = await startReceiver("HTTP/1.1 204 No Content\r\n\r\n", true);
  await send(other.url);
  expect(isReached).toBe(false);
});
