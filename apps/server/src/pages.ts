import { existsSync, globSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { createMiddleware } from "hono/factory";
import type { AppEnv } from "./context.ts";

/** A built file, as it is sent. */
interface Page {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly gzipped: Uint8Array<ArrayBuffer> | undefined;
  readonly type: string;
  /** The name holds a hash of the content: it never changes. */
  readonly isForever: boolean;
}

/** Built files by their path. */
export type Pages = ReadonlyMap<string, Page>;

/** Where the build leaves them. */
export const pagesDir = join(import.meta.dirname, "../../web/dist");

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** What a page may do: nothing but its own scripts, styles and requests; nobody frames it, and no form leaves it. */
const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join("; ");

/** Every address of the web app is its one page, which looks at the address itself. */
const appPaths = /^\/(?:$|(?:login|tasks|runs|kb|admin)(?:\/|$))/;

/** Reads the built pages into memory; empty where nothing was built. */
export function readPages(dir: string = pagesDir): Pages {
  if (!existsSync(dir)) return new Map();
  const files = globSync("**/*.{js,css,html,svg}", { cwd: dir });
  return new Map(files.map((file) => [`/${file}`, readPage(join(dir, file), file.startsWith("assets/"))]));
}

function readPage(path: string, isForever: boolean): Page {
  const compressed = `${path}.gz`;
  return {
    body: new Uint8Array(readFileSync(path)),
    gzipped: existsSync(compressed) ? new Uint8Array(readFileSync(compressed)) : undefined,
    type: types[extname(path)] ?? "application/octet-stream",
    isForever,
  };
}

/**
 * Answers GET and HEAD of the web app's addresses with its page, and of its files with them; passes everything else on. To
 * whom a browser brought to an address that nothing knows, the page says so. Nothing here reads a session or changes anything.
 */
export function servePages(pages: Pages) {
  return createMiddleware<AppEnv>(async (c, next) => {
    const isRead = c.req.method === "GET" || c.req.method === "HEAD";
    const mayZip = /\bgzip\b/.test(c.req.header("accept-encoding") ?? "");
    const page = isRead ? pages.get(appPaths.test(c.req.path) ? "/index.html" : c.req.path) : undefined;
    if (page !== undefined) return answerWith(page, mayZip);

    await next();
    const whole = pages.get("/index.html");
    const isVisit = isRead && c.req.header("sec-fetch-dest") === "document";
    if (isVisit && c.res.status === 404 && whole !== undefined) c.res = answerWith(whole, mayZip, 404);
    return undefined;
  });
}

function answerWith({ body, gzipped, type, isForever }: Page, mayZip: boolean, status = 200): Response {
  const zipped = mayZip ? gzipped : undefined;
  return new Response(zipped ?? body, {
    status,
    headers: {
      "Content-Type": type,
      "Cache-Control": isForever ? "public, max-age=31536000, immutable" : "no-cache",
      Vary: "Accept-Encoding",
      "Content-Security-Policy": contentPolicy,
      "X-Content-Type-Options": "nosniff",
      "Referrer-Policy": "no-referrer",
      "Cross-Origin-Opener-Policy": "same-origin",
      ...(zipped === undefined ? {} : { "Content-Encoding": "gzip" }),
    },
  });
}
