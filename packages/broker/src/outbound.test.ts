import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { type AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { hostsOf, isAllowedHost } from "./destinations.ts";
import { HandleRefused } from "./lease.ts";
import { sendWithCredential, type Lender, type OutboundOptions, type OutboundRequest } from "./outbound.ts";

const secret = "canary-credential";
const handle: Lender = { use: (body) => body(secret) };
const loopback = { hosts: ["127.0.0.1"], inject: (value: string) => ({ authorization: `Bearer ${value}` }) };

/** A server of this machine that remembers what it was sent. */
async function serve(answer: RequestListener) {
  const seen: IncomingMessage[] = [];
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    seen.push(request);
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      bodies.push(body);
      answer(request, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { origin: `http://127.0.0.1:${port}`, seen, bodies };
}

const redirectTo =
  (location: string, status = 302): RequestListener =>
  (_request, response) => {
    response.writeHead(status, { location }).end();
  };

/** Sends without a network: what each URL answers, and what was sent. */
function send(
  request: OutboundRequest,
  answers: Record<string, [number, string?]>,
  over: Partial<OutboundOptions> = {},
) {
  const sent: { url: string; headers: Headers; method: string | undefined }[] = [];
  const options: OutboundOptions = {
    ...loopback,
    hosts: ["api.example.com"],
    send: async (url, { headers, method }) => {
      sent.push({ url, headers: new Headers(headers), method });
      const [status, location] = answers[url] ?? [200];
      return new Response(null, { status, headers: location === undefined ? {} : { location } });
    },
    ...over,
  };
  return { outcome: sendWithCredential(handle, request, options), sent };
}

test("a request to an allowed host carries the credential", async () => {
  const server = await serve((_request, response) => response.end("well"));
  const url = `${server.origin}/v1?x=1`;
  const outcome = await sendWithCredential(
    handle,
    { url, method: "post", headers: { "x-own": "1" }, body: "text" },
    loopback,
  );
  if (outcome.kind !== "answered") throw new Error(outcome.kind);
  expect(await outcome.response.text()).toBe("well");
  expect(outcome).toMatchObject({ url, hasCredential: true });
  expect(server.seen[0]?.headers).toMatchObject({ authorization: `Bearer ${secret}`, "x-own": "1" });
  expect([server.seen[0]?.method, server.bodies[0]]).toEqual(["POST", "text"]);
});

describe("nothing is sent", () => {
  test.each<[string, string, string]>([
    ["to another host", "https://api.example.org/", "host_not_allowed"],
    ["to a host whose name ends with an allowed one", "https://evil-api.example.com/", "host_not_allowed"],
    ["to a host below an allowed one", "https://x.api.example.com/", "host_not_allowed"],
    ["to a host that only looks like a login", "https://api.example.com@evil.example/", "url_invalid"],
    ["without TLS", "http://api.example.com/", "tls_required"],
    ["with a login in the URL", "https://user:pass@api.example.com/", "url_invalid"],
    ["over another protocol", "ftp://api.example.com/", "url_invalid"],
    ["to what is no URL", "api.example.com", "url_invalid"],
    ["to this machine, unless it is allowed", "http://127.0.0.1:9/", "host_not_allowed"],
  ])("%s", async (_name, url, code) => {
    const { outcome, sent } = send({ url }, {});
    const { kind, ...rest } = await outcome;
    expect({ kind, ...rest }).toMatchObject({ kind: "refused", code });
    expect(JSON.stringify(rest)).not.toContain("pass");
    expect(sent).toEqual([]);
  });

  test("once the lease is gone", async () => {
    const gone: Lender = {
      use: () => Promise.reject(new HandleRefused({ kind: "refused", code: "grant_revoked", message: "taken back" })),
    };
    const server = await serve((_request, response) => response.end());
    await expect(sendWithCredential(gone, { url: server.origin }, loopback)).rejects.toMatchObject({
      code: "grant_revoked",
    });
    expect(server.seen).toEqual([]);
  });

  test("of a credential that is no header, and it is not quoted", async () => {
    const odd: Lender = { use: (body) => body("line one\nline two") };
    const outcome = await sendWithCredential(odd, { url: "http://127.0.0.1:9/" }, loopback);
    expect(outcome).toMatchObject({ kind: "refused", code: "credential_unusable" });
    expect(JSON.stringify(outcome)).not.toContain("line");
  });
});

describe("KN22: a redirect", () => {
  test("within the origin keeps the credential", async () => {
    const server = await serve((request, response) =>
      request.url === "/a" ? redirectTo("/b")(request, response) : response.end("b"),
    );
    const outcome = await sendWithCredential(handle, { url: `${server.origin}/a` }, loopback);
    expect(outcome).toMatchObject({ kind: "answered", hasCredential: true, url: `${server.origin}/b` });
    expect(server.seen.map((one) => one.headers.authorization)).toEqual([`Bearer ${secret}`, `Bearer ${secret}`]);
  });

  test("to another origin drops it, with whatever else belongs to the first: another port is another origin", async () => {
    const other = await serve((_request, response) => response.end("other"));
    const server = await serve(redirectTo(`${other.origin}/x`, 307));
    const headers = { cookie: "sid=1", "proxy-authorization": "Basic x", "x-own": "1" };
    const outcome = await sendWithCredential(handle, { url: server.origin, headers }, loopback);
    expect(outcome).toMatchObject({ kind: "answered", hasCredential: false });
    const [seen] = other.seen;
    expect(seen?.headers["x-own"]).toBe("1");
    expect(JSON.stringify(seen?.rawHeaders)).not.toMatch(/canary|sid=1|Basic/);
  });

  test("does not bring it back when it returns to the first origin", async () => {
    const { outcome, sent } = send(
      { url: "https://api.example.com/1" },
      {
        "https://api.example.com/1": [302, "https://evil.example/2"],
        "https://evil.example/2": [302, "https://api.example.com/3"],
      },
    );
    expect(await outcome).toMatchObject({ kind: "answered", hasCredential: false, url: "https://api.example.com/3" });
    expect(sent.map(({ headers }) => headers.has("authorization"))).toEqual([true, false, false]);
  });

  test("drops a credential of any header, and a login that the target names is not sent", async () => {
    const inject = (value: string) => ({ "x-api-key": value });
    const { outcome, sent } = send(
      { url: "https://api.example.com/" },
      { "https://api.example.com/": [302, "https://user:pass@evil.example/"] },
      { inject },
    );
    expect(await outcome).toMatchObject({ kind: "answered", hasCredential: false });
    expect(sent.map(({ url, headers }) => [url, headers.get("x-api-key")])).toEqual([
      ["https://api.example.com/", secret],
      ["https://evil.example/", null],
    ]);
  });

  test.each<[string, string, string]>([
    ["from TLS to plain is refused", "http://api.example.com/x", "redirect_insecure"],
    ["to another protocol is refused", "file:///etc/passwd", "redirect_invalid"],
    ["to what is no URL is refused", "https://", "redirect_invalid"],
  ])("%s", async (_name, location, code) => {
    const { outcome, sent } = send(
      { url: "https://api.example.com/" },
      { "https://api.example.com/": [302, location] },
    );
    expect(await outcome).toMatchObject({ kind: "refused", code });
    expect(sent).toHaveLength(1);
  });

  test("in a circle ends after a few", async () => {
    const url = "https://api.example.com/";
    const { outcome, sent } = send({ url }, { [url]: [302, url] }, { maxRedirects: 3 });
    expect(await outcome).toMatchObject({ kind: "refused", code: "too_many_redirects" });
    expect(sent).toHaveLength(4);
  });

  test.each<[number, string, string]>([
    [301, "GET", ""],
    [302, "GET", ""],
    [303, "GET", ""],
    [307, "POST", "form"],
    [308, "POST", "form"],
  ])("of status %i sends a form on as %s", async (status, method, body) => {
    const server = await serve((request, response) =>
      request.url === "/a" ? redirectTo("/b", status)(request, response) : response.end(),
    );
    await sendWithCredential(handle, { url: `${server.origin}/a`, method: "POST", body: "form" }, loopback);
    expect([server.seen[1]?.method, server.bodies[1]]).toEqual([method, body]);
  });
});

test("KN23: what the platform throws is told in words of ours", async () => {
  const server = await serve((_request, response) => response.socket?.destroy());
  const outcome = await sendWithCredential(handle, { url: `${server.origin}/?key=${secret}` }, loopback);
  expect(outcome).toMatchObject({ kind: "failed", failure: { code: "connection_lost", host: "127.0.0.1" } });
  expect(JSON.stringify(outcome)).not.toContain(secret);
  const aborted = await sendWithCredential(handle, { url: server.origin, signal: AbortSignal.abort() }, loopback);
  expect(aborted).toMatchObject({ kind: "failed", failure: { code: "aborted" } });
});

test("a capability's hosts are those known for it, or the one that was configured", () => {
  expect(isAllowedHost(hostsOf("llm.anthropic"), "api.anthropic.com")).toBe(true);
  expect(isAllowedHost(hostsOf("slack.send"), "files.slack.com")).toBe(true);
  expect(isAllowedHost(hostsOf("slack.send"), "notslack.com")).toBe(false);
  expect(isAllowedHost(hostsOf("google.oauth"), ".googleapis.com")).toBe(false);
  expect(hostsOf("llm.anthropic", "http://127.0.0.1:8080/v1")).toEqual(["127.0.0.1"]);
  expect(hostsOf("llm.anthropic", "not a URL")).toEqual(["api.anthropic.com"]);
  expect(hostsOf("calendar.write")).toEqual([]);
});
