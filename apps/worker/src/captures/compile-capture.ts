import type { Sql, Tx } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { applyOkf, type OkfEdit } from "@countersign/kb/apply-okf.ts";
import { createPage } from "@countersign/kb/create-page.ts";
import { lookupPage } from "@countersign/kb/lookup.ts";
import type { Writer } from "@countersign/kb/scope.ts";
import { findTitleProblem } from "@countersign/kb/text.ts";
import { beginCapture, lockCapture, type PendingCapture, settleCapture } from "@countersign/ops/captures.ts";
import { readBlob } from "@countersign/ops/read-blob.ts";
import { writeCaptureBody, writeCapturePage } from "./capture-page.ts";

/** Where captured pages lie. */
const dir = "captures";
const mostBytes = 4 * 1024 * 1024;

/** `nothing_to_do`: somebody compiled it before, or there is no such capture. */
export type CompileOutcome = "compiled" | "failed" | "nothing_to_do";

/**
 * Makes the page of a capture, or brings the page of its address up to date; once, whoever tries, and as the user it was
 * captured for. What cannot be compiled is marked so with its reason. An error is passed on, and the capture waits for a
 * further attempt, until there were `mostAttempts`.
 */
export async function compileCapture(sql: Sql, id: string, mostAttempts: number): Promise<CompileOutcome> {
  const begun = await beginCapture(sql, id, mostAttempts);
  if (begun !== "begun") return begun === "exhausted" ? "failed" : "nothing_to_do";
  return await transaction(sql, async (tx) => {
    const capture = await lockCapture(tx, id);
    if (capture === undefined) return "nothing_to_do";
    const outcome = await compile(tx, capture);
    await settleCapture(tx, id, outcome);
    return "problem" in outcome ? "failed" : "compiled";
  });
}

type Compiled = { readonly pageId: string; readonly revision: number } | { readonly problem: string };

async function compile(tx: Tx, capture: PendingCapture): Promise<Compiled> {
  const { workspaceId, userId, runId, callId } = capture;
  const read = await readText(tx, workspaceId, capture);
  if ("problem" in read) return read;
  const { markdown } = read;
  const call = runId === null || callId === null ? {} : { call: { runId, callId } };
  const writer: Writer = { tx, workspaceId, userId, isPerson: false, ...call };
  const { earlier, isOvertaken } = capture;
  if (earlier === undefined) return await makePage(writer, capture, markdown);
  if (isOvertaken) return earlier;
  const before = await readText(tx, workspaceId, earlier);
  if ("problem" in before) return await makePage(writer, capture, markdown);
  const edit = {
    page: earlier.pageId,
    revision: earlier.revision,
    okf: writeCaptureBody(capture.url, markdown),
    written: writeCaptureBody(earlier.url, before.markdown),
  };
  return (await changePage(writer, edit)) ?? (await makePage(writer, capture, markdown));
}

async function readText(
  tx: Tx,
  workspaceId: string,
  { hash }: { readonly hash: string },
): Promise<{ readonly markdown: string } | { readonly problem: string }> {
  const blob = await readBlob(tx, { workspaceId, hash, mostBytes });
  if (blob.kind !== "read") return { problem: `its text is ${blob.kind.replace("_", " ")} in the store` };
  return { markdown: blob.bytes.toString("utf8") };
}

/**
 * Brings the page of an earlier capture up to date with what became of the address since; what people made of it stays.
 * Undefined where that cannot be: the page is gone, or people changed the very lines that the new text changes.
 */
async function changePage(writer: Writer, edit: OkfEdit): Promise<Compiled | undefined> {
  if ((await lookupPage(writer, edit.page)).kind !== "found") return undefined;
  const applied = await applyOkf(writer, edit);
  switch (applied.kind) {
    case "applied":
    case "unchanged":
      return { pageId: applied.page.id, revision: applied.page.revision };
    case "stale":
    case "ambiguous":
      return undefined;
    case "forbidden":
      return { problem: `whom it was captured for may not change the page "${applied.page.title}"` };
    case "refused":
      return { problem: applied.reason };
  }
}

async function makePage(writer: Writer, capture: PendingCapture, markdown: string): Promise<Compiled> {
  for (const title of titlesOf(capture)) {
    const created = await createPage(writer, { title, dir, okf: writeCapturePage(capture, title, markdown) });
    if (created.kind === "created") return { pageId: created.page.id, revision: created.page.revision };
    if (created.kind === "refused") return { problem: created.reason };
  }
  return { problem: "each title that it could have is another page's" };
}

/**
 * Titles to try: a page that is there keeps its own, whatever somebody captures under that name, and none is as a page of
 * memory is called.
 */
function titlesOf({ id, title, url }: PendingCapture): string[] {
  const { host } = new URL(url);
  const plain = title.replaceAll(/\[\[|\]\]|\p{Cc}/gu, " ").trim();
  const usable = findTitleProblem(plain) === undefined ? plain : host;
  const short = Array.from(usable).slice(0, 100).join("").trim();
  const from = host.slice(0, 60);
  const isLikeMemory = /^\P{L}*memory\P{L}*:/iu.test(short.normalize("NFKC"));
  const name = isLikeMemory ? `Captured: ${short}` : short;
  return [name, `${name} (${from})`, `${name} (${from}, ${id.slice(-6)})`];
}
