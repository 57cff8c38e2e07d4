import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { readPublicKey } from "@countersign/broker/public-key.ts";
import { putSecret } from "@countersign/broker/secrets.ts";
import { ask, type Client, createClient, type Task } from "@countersign/cli/client.ts";
import { startMailServer } from "@countersign/cli/local/mail-server.ts";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { createScriptedModel, type Line, type Stage } from "@countersign/engine/scripted-model.ts";
import { makeWorld } from "@countersign/engine/testing/fixtures.ts";
import { importFolder } from "@countersign/kb/import-folder.ts";
import { readPage } from "@countersign/kb/read-page.ts";
import { startServer } from "@countersign/server/serve.ts";
import { createToken } from "@countersign/server/tokens.ts";
import { parseConfig } from "@countersign/worker/config.ts";
import { work } from "@countersign/worker/work.ts";
import { pino } from "pino";
import PostalMime from "postal-mime";
import { expect, test } from "vitest";
import { repositoryRoot } from "./support/repository.ts";

/** Pages that somebody really wrote; not part of the repository. */
const folder = process.env["COUNTERSIGN_REAL_PAGES"] || join(repositoryRoot, "../shared/data");
const hasPages = existsSync(folder);
if (!hasPages) {
  console.log(
    `Real pages are not tried: there is no folder ${folder}. Set COUNTERSIGN_REAL_PAGES to a folder of Markdown files.`,
  );
}

const dataDir = join(repositoryRoot, ".test-data", `real-input-${process.pid}`);
const recipient = "reader@reading.example";

/** Looks a word up, reads the pages that use it, notes it on the first, asks whether to report, and mails what it found. */
function librarian({ said, results }: Stage): Line {
  const word = said[0] ?? "";
  const of = (tool: string) => results.filter((result) => result.tool === tool);
  const [found] = of("kb.grep");
  if (found === undefined) return { use: [{ tool: "kb.grep", args: { pattern: word, limit: 200 } }] };
  const titles = [...new Set([...found.content.matchAll(/^(.+?) › /gm)].map(([, title]) => title ?? ""))];
  if (of("kb.read").length === 0) {
    return {
      say: `${titles.length} pages`,
      use: titles.slice(0, 5).map((page) => ({ tool: "kb.read", args: { page } })),
    };
  }
  const read = of("kb.read").filter((result) => !result.isError);
  const page = /^id: (\S+)$/m.exec(read[0]?.content ?? "")?.[1] ?? "";
  if (of("kb.append").length === 0) {
    return { use: [{ tool: "kb.append", args: { page, text: `Looked up: ${word}, on ${titles.length} pages` } }] };
  }
  const [answer] = of("human.ask");
  if (answer === undefined) {
    const question = `${read.length} pages on “${word}” are read. How shall they be reported?`;
    return { use: [{ tool: "human.ask", args: { question, options: ["briefly", "in full"] } }] };
  }
  if (of("mail.send").length === 0) {
    const listed = answer.content === "in full" ? read.map((result) => result.content) : titles;
    const text = [`${found.content.split("\n").at(-1)}`, "", ...listed]
      .join("\n")
      .replaceAll(/[^\P{Cc}\t\r\n]/gu, "")
      .toWellFormed();
    return { use: [{ tool: "mail.send", args: { to: [recipient], subject: `On ${word}`, text } }] };
  }
  return { say: of("mail.send")[0]?.content ?? "" };
}

/** The word of at least six letters that the most pages hold. */
function commonestWord(): string {
  const pages = new Map<string, number>();
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".md"));
  for (const name of files) {
    const words =
      readFileSync(join(folder, name), "utf8")
        .toLowerCase()
        .match(/\b[a-z]{6,}\b/g) ?? [];
    for (const word of new Set(words)) pages.set(word, (pages.get(word) ?? 0) + 1);
  }
  const [first] = [...pages].toSorted(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
  return first?.[0] ?? "nothing";
}

async function waitForTask(client: Client, kind: Task["kind"]): Promise<Task> {
  for (let attempt = 0; attempt < 400; attempt++) {
    const { tasks } = await ask(client.v1.tasks.$get({ query: {} }));
    const task = tasks.find((one) => one.kind === kind);
    if (task !== undefined) return task;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`No ${kind} came up within 20 s`);
}

test.runIf(hasPages)(
  "over real pages a run greps, reads, appends one bullet, asks, and mails what was countersigned",
  async () => {
    mkdirSync(dataDir, { recursive: true });
    const { url, sql } = await testDatabase();
    const world = await makeWorld(sql, {
      name: "agent",
      model: "scripted",
      toolset: ["kb.grep", "kb.read", "kb.append", "human.ask", "mail.send"],
    });
    const { workspaceId } = world;
    const imported = await importFolder(sql, { workspaceId, userId: world.admin, folder });
    console.log(
      `${imported.pageCount} pages with ${imported.nodeCount} nodes; ${imported.skipped.length} files left out`,
    );

    const log = pino({ level: "silent" });
    const mail = await startMailServer(join(dataDir, "mail-server.json"), join(dataDir, "mail"), () => undefined);
    const config = parseConfig({ DATABASE_URL: url, PROVIDERS: "fake", COUNTERSIGN_DATA: dataDir });
    const worker = await work(config, () => ({ model: createScriptedModel({ agent: librarian }) }), log);
    const server = await startServer({ databaseUrl: url, host: "127.0.0.1", port: 0, publicUrl: undefined }, log);
    try {
      const { port, user, pass } = mail.settings;
      const value = JSON.stringify({ host: "127.0.0.1", port, user, pass, from: "library@reading.example" });
      await putSecret(sql, await readPublicKey(dataDir), { workspaceId, name: "mail", capability: "mail.send", value });
      const { token } = await createToken(sql, { workspaceId, userId: world.admin, label: "test", mayDecide: true });
      const client = createClient(server.url, token);
      const word = commonestWord();
      const { id } = await ask(client.v1.runs.$post({ header: {}, json: { definition: "agent", input: word } }));

      const question = await waitForTask(client, "question");
      const tree = await ask(client.v1.runs[":id"].tree.$get({ param: { id }, query: { limit: 1000 } }));
      const calls = tree.entries.flatMap((entry) => entry.calls);
      const [added] = calls.filter((call) => call.tool === "kb.append");
      const appended = /Added bullet (\S+) to page [^]*?\(id (\S+)\)/.exec(JSON.stringify(added?.result));
      const pageId = appended?.[2] ?? "";
      const page = await transaction(sql, (tx) => readPage({ tx, workspaceId, userId: world.admin }, pageId));
      expect(page?.markdown.split("\n").filter((line) => line.includes(`Looked up: ${word}, on `))).toHaveLength(1);

      await ask(client.v1.tasks[":id"].answer.$post({ param: { id: question.id }, json: { answer: "in full" } }));
      const card = await waitForTask(client, "approval");
      expect(readdirSync(join(dataDir, "mail"))).toEqual([]);
      const { version, argsDigest, args } = card.approval ?? { version: 0, argsDigest: "", args: "{}" };
      await ask(
        client.v1.tasks[":id"].confirm.$post({
          param: { id: card.id },
          header: { "if-match": `"${version}"` },
          json: { argsDigest },
        }),
      );
      const ended = await ask(client.v1.runs[":id"].log.$get({ param: { id }, query: { after: 1_000, wait: 30 } }));
      expect(ended).toMatchObject({ hasEnded: true, status: "completed" });

      const [file = "", ...more] = readdirSync(join(dataDir, "mail"));
      expect(more).toEqual([]);
      const received = await PostalMime.parse(readFileSync(join(dataDir, "mail", file)));
      const approved = JSON.parse(args) as { subject: string; text: string };
      expect(received).toMatchObject({ subject: approved.subject, to: [{ address: recipient }] });
      expect(lines(received.text ?? "")).toEqual(lines(approved.text));
    } finally {
      await Promise.all([server.stop(), worker.stop(), mail.close()]);
      rmSync(dataDir, { recursive: true, force: true });
    }
  },
);

/** Line ends are the mail's own, and it closes with one. */
function lines(text: string): string[] {
  return text.trimEnd().split(/\r\n|\r|\n/);
}
