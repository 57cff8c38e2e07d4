import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import { createParser, followEvents, type StreamEvent } from "./events.ts";

const text = [
  'event: line\nid: 1\ndata: {"seq":1,"text":"ä\\n: x"}\n\n',
  ": ping\nid: 2\n\n",
  "event: end\ndata: {}\n\n",
].join("");

test("however a stream is cut into pieces, the same events come of it", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(text.length), { maxLength: 12 }), (cuts) => {
      const at = [0, ...cuts.toSorted((a, b) => a - b), text.length];
      const parser = createParser(undefined);
      const events = at.slice(1).flatMap((end, index) => parser.take(text.slice(at[index], end)));
      expect(events).toEqual([
        { event: "line", data: { seq: 1, text: "ä\n: x" } },
        { event: "end", data: {} },
      ]);
      expect(parser.lastEventId()).toBe("2");
    }),
  );
});

test("what is cut off in the middle of an event is not an event, and does not move the place to go on from", () => {
  const parser = createParser("7");
  expect(parser.take('event: line\nid: 8\ndata: {"seq":8}\n')).toEqual([]);
  expect(parser.lastEventId()).toBe("7");
});

let server: Server | undefined;
afterEach(() => {
  server?.close();
  server?.closeAllConnections();
});

/** A server that answers each request for the stream with the next of `answers`. */
async function serve(
  answers: ((response: ServerResponse) => void)[],
): Promise<{ url: string; asked: (string | undefined)[] }> {
  const asked: (string | undefined)[] = [];
  server = createServer((request, response) => {
    asked.push(request.headers["last-event-id"] as string | undefined);
    (answers.shift() ?? ((to) => to.writeHead(204).end()))(response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

async function follow(url: string): Promise<{ events: StreamEvent[]; away: boolean[] }> {
  const events: StreamEvent[] = [];
  const away: boolean[] = [];
  const { signal } = new AbortController();
  const open = async (id: string | undefined): Promise<Response> =>
    await fetch(url, { headers: id === undefined ? {} : { "last-event-id": id }, signal });
  for await (const batch of followEvents({ open, signal, onAway: (is) => away.push(is) })) events.push(...batch);
  return { events, away };
}

test("a stream that breaks off is gone on with after the last whole event, until there is nothing more", async () => {
  const { url, asked } = await serve([
    (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("id: 1\ndata: 1\n\nid: 2\ndata: 2\n\nid: 3\nda", () => response.destroy());
    },
    (response) => response.end("id: 3\ndata: 3\n\n"),
  ]);
  const { events, away } = await follow(url);
  expect(events.map(({ data }) => data)).toEqual([1, 2, 3]);
  expect(asked).toEqual([undefined, "2", "3"]);
  expect(away).toEqual([false, true, false, true]);
});

test("a stream that only looks alive is gone on with, and signs of life are not told", async () => {
  const { url, asked } = await serve([
    (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write('id: 1\ndata: 1\n\nevent: alive\nid: 2\ndata: {"everyMs":40}\n\n');
    },
    (response) => response.end("id: 3\ndata: 3\n\n"),
  ]);
  const { events, away } = await follow(url);
  expect(events.map(({ data }) => data)).toEqual([1, 3]);
  expect(asked).toEqual([undefined, "2", "3"]);
  expect(away).toEqual([false, true, false, true]);
});

test("a refusal, and a server that was never there, end it at once", async () => {
  const { url } = await serve([(response) => response.writeHead(403).end('{"detail":"not you"}')]);
  await expect(follow(url)).rejects.toMatchObject({ message: "not you", exit: "denied" });
  await expect(follow("http://127.0.0.1:1")).rejects.toThrow("does not answer");
});
