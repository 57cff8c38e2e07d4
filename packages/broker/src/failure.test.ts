import { createServer } from "node:http";
import { type AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { describeFailure } from "./failure.ts";

const canary = "canary-in-the-error";

/** As libraries throw them: the text and fields quote the URL, headers and inputs. */
function libraryError(fields: object): Error {
  const error = new Error(`request to https://x/?key=${canary} failed with authorization: Bearer ${canary}`);
  return Object.assign(error, { config: { headers: { authorization: canary } }, host: canary, ...fields });
}

describe("KN23: an error is told by code, status and host, and nothing of its own text", () => {
  test.each<[string, object, object]>([
    ["of a name that is not found", { code: "ENOTFOUND" }, { code: "host_not_found" }],
    ["of a refused connection", { cause: libraryError({ code: "ECONNREFUSED" }) }, { code: "unreachable" }],
    ["of a lost connection", { code: "ECONNRESET" }, { code: "connection_lost" }],
    ["of a time limit", { name: "TimeoutError" }, { code: "timeout" }],
    ["of a stop", { name: "AbortError" }, { code: "aborted" }],
    ["of an expired certificate", { code: "CERT_HAS_EXPIRED" }, { code: "tls_failed" }],
    ["of a name that the certificate lacks", { code: "ERR_TLS_CERT_ALTNAME_INVALID" }, { code: "tls_failed" }],
    ["with a status", { status: 401 }, { code: "unauthorized", status: 401 }],
    [
      "with a status in its response",
      { response: { status: 503, data: canary } },
      { code: "server_failed", status: 503 },
    ],
    ["with a status code", { statusCode: 429 }, { code: "rate_limited", status: 429 }],
    ["of a refused request", { status: 422 }, { code: "refused", status: 422 }],
    ["that nobody knows", { code: canary }, { code: "failed" }],
    ["with a status that is none", { status: canary }, { code: "failed" }],
  ])("%s", (_name, fields, expected) => {
    const failure = describeFailure(libraryError(fields), "api.example.com");
    expect(failure).toMatchObject({ ...expected, host: "api.example.com" });
    expect(failure.message).toContain("api.example.com");
    expect(JSON.stringify(failure)).not.toContain(canary);
  });

  test("of what is no error at all", () => {
    const inACircle: { cause?: unknown } = {};
    inACircle.cause = inACircle;
    for (const thrown of [undefined, null, canary, 7, { status: "x" }, inACircle])
      expect(describeFailure(thrown)).toEqual({ code: "failed", message: "the other side could not be used" });
  });

  test("of several tries", () => {
    const error = new AggregateError([libraryError({ code: "ECONNREFUSED" })], canary);
    expect(describeFailure(error).code).toBe("unreachable");
  });
});

test("what fetch throws is understood: nobody listening, an answer that is no HTTP, a time limit", async () => {
  const server = createServer((request, response) => {
    if (request.url !== "/silent") response.socket?.end("not http\r\n\r\n");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const thrownBy = (url: string, init: RequestInit = {}) => fetch(url, init).catch((error: unknown) => error);
  expect(describeFailure(await thrownBy(`http://127.0.0.1:${port}/`)).code).toBe("bad_answer");
  const signal = AbortSignal.timeout(20);
  expect(describeFailure(await thrownBy(`http://127.0.0.1:${port}/silent`, { signal })).code).toBe("timeout");
  const closed = createServer();
  await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", resolve));
  const free = (closed.address() as AddressInfo).port;
  await new Promise((resolve) => closed.close(resolve));
  expect(describeFailure(await thrownBy(`http://127.0.0.1:${free}/`)).code).toBe("unreachable");
});
