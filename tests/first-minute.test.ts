import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { connect } from "@countersign/db/connect.ts";
import { afterAll, describe, expect, test } from "vitest";
import { countersign, type Dev, type DevEvent, processesOf, startDev, until } from "./support/countersign.ts";
import { repositoryRoot } from "./support/repository.ts";

interface Card {
  readonly id: string;
  readonly kind: string;
  readonly run: { readonly id: string };
  readonly approval: { readonly argsDigest: string } | null;
}

interface Tree {
  readonly run: { readonly status: string };
  readonly entries: readonly {
    readonly calls: readonly { readonly tool: string; readonly log: readonly { readonly content: unknown }[] }[];
  }[];
}

const dataDir = join(repositoryRoot, ".test-data", `first-minute-${process.pid}`);
mkdirSync(dataDir, { recursive: true });
let dev: Dev | undefined;

afterAll(async () => {
  await dev?.interrupt().catch(() => undefined);
  for (const { pid } of processesOf(dataDir)) process.kill(pid, "SIGKILL");
  rmSync(dataDir, { recursive: true, force: true });
});

const cli = (...args: string[]) => countersign(dataDir, ...args);
const json = async <T>(...args: string[]): Promise<T> => JSON.parse((await cli(...args, "--json")).out) as T;
const cardsOf = (ready: DevEvent) => ready["tasks"] as readonly Card[];
const mails = () => readdirSync(join(dataDir, "mail")).filter((name) => name.endsWith(".eml"));

async function start(what: string): Promise<{ dev: Dev; ready: DevEvent }> {
  dev = startDev(dataDir);
  const ready = await dev.event("ready");
  console.log(`${what}: ${(Number(ready["elapsedMs"]) / 1_000).toFixed(1)} s to the waiting cards`);
  return { dev, ready };
}

describe("the first minute", () => {
  let question: Card;

  test("a first start leads to a card that is countersigned, a mail that is sent once, and a question", async () => {
    const { dev, ready } = await start("First start");
    const cards = cardsOf(ready);
    expect(cards.map((card) => card.kind).toSorted()).toEqual(["approval", "question"]);
    const [approval] = cards.filter((card) => card.kind === "approval");
    [question] = cards.filter((card) => card.kind === "question") as [Card];
    const { id, run } = approval as Card;
    const digest = approval?.approval?.argsDigest ?? "";

    const shown = await cli("tasks", "show", id);
    for (const part of ["mail.send", "To: orders@norvik.example", "Larkfield Tool Library", digest])
      expect(shown.out).toContain(part);
    expect(mails()).toEqual([]);
    expect(await cli("tasks", "approve", id)).toMatchObject({
      code: 2,
      error: expect.stringContaining(`--digest ${digest}`),
    });
    expect(await cli("tasks", "approve", id, "--digest", "another")).toMatchObject({ code: 4 });
    expect(await cli("tasks", "approve", id.slice(-8), "--digest", digest)).toMatchObject({ code: 0 });
    expect(await cli("tasks", "deny", id)).toMatchObject({ code: 4, error: expect.stringContaining("You decided") });

    const watched = await cli("runs", "watch", run.id, "--timeout", "30");
    expect(watched).toMatchObject({ code: 0 });
    expect(watched.out).toContain("acquired mail.send");
    expect(await cli("runs", "watch", question.run.id, "--timeout", "1")).toMatchObject({ code: 5 });
    const tree = await json<Tree>("runs", "get", run.id);
    const send = tree.entries.flatMap((entry) => entry.calls).filter((call) => call.tool === "mail.send");
    expect(send.map((call) => call.log.map((line) => line.content))).toEqual([
      ["approve", "acquired mail.send", "mail.send done"],
    ]);

    await dev.event("mail");
    expect(mails()).toHaveLength(1);
    expect(readFileSync(join(dataDir, "mail", mails()[0] ?? ""), "utf8")).toMatch(/^To: orders@norvik\.example\r?$/m);
  });

  test("doctor says how to look into the database, and no password", async () => {
    const { out, code } = await cli("doctor");
    expect(code).toBe(0);
    const [, file = "", port] = /PGPASSWORD="\$\(cat '(.*)'\)" psql -h 127\.0\.0\.1 -p (\d+) -U/.exec(out) ?? [];
    const password = readFileSync(file, "utf8");
    expect(out).not.toContain(password);
    const sql = connect(`postgres://countersign:${password}@127.0.0.1:${port}/postgres`, { max: 1 });
    expect(await sql`select from workspaces`).toHaveLength(1);
    await sql.end();
  });

  test("a second one on the same folder is refused with the process that has it", async () => {
    const second = await cli("dev");
    expect(second.code).toBe(4);
    expect(second.error).toContain(dataDir);
  });

  test("Ctrl-C stops everything in order and leaves no process", async () => {
    expect(await dev?.interrupt()).toBe(0);
    const stopped = dev?.events.map((event) => event["text"]).filter((text) => String(text).endsWith(" stopped"));
    expect(stopped).toEqual(["worker stopped", "server stopped", "mail stopped", "PostgreSQL stopped"]);
    expect(processesOf(dataDir)).toEqual([]);
  });

  test("a second start finds the question still waiting, starts no second demo, and goes on from the answer", async () => {
    const { ready } = await start("Second start");
    expect(cardsOf(ready).map((card) => card.id)).toEqual([question.id]);
    expect(await json<unknown[]>("runs", "ls")).toHaveLength(2);

    expect(await cli("tasks", "answer", question.id, "--option", "2")).toMatchObject({ code: 0 });
    const watched = await cli("runs", "watch", question.run.id, "--timeout", "30");
    expect(watched).toMatchObject({ code: 0 });
    expect(watched.out).toContain("Thursday 10 December, 18:30");
    expect(mails()).toHaveLength(1);
  });

  test("a worker or a server that is killed is started again, and a run by hand completes", async () => {
    for (const name of ["worker", "server"]) {
      const victims = processesOf(dataDir).filter(({ command }) => command.endsWith(`apps/${name}/src/main.ts`));
      expect(victims).toHaveLength(1);
      for (const { pid } of victims) process.kill(pid, "SIGKILL");
      await until(() => dev?.events.some(({ text }) => String(text).startsWith(`The ${name} ended`)) === true, 10_000);
      await until(
        () =>
          processesOf(dataDir).some(
            ({ pid, command }) => command.endsWith(`apps/${name}/src/main.ts`) && pid !== victims[0]?.pid,
          ),
        10_000,
      );
    }
    let started = await cli("runs", "start", "triage", "the leaf rake needs a handle", "--key", "by-hand");
    for (let attempt = 0; started.code !== 0 && attempt < 50; attempt++) {
      started = await cli("runs", "start", "triage", "the leaf rake needs a handle", "--key", "by-hand");
    }
    const id = /Started ([0-9a-f]{8})/.exec(started.out)?.[1] ?? started.error;
    expect(await cli("runs", "watch", id, "--timeout", "60")).toMatchObject({ code: 0 });
  });

  test("where it is killed itself, server and worker stop, and the next start finds everything", async () => {
    dev?.process.kill("SIGKILL");
    await until(() => processesOf(dataDir).every(({ command }) => !command.includes("src/main.ts")), 20_000);
    const { dev: again } = await start("Start after a kill");
    expect(await json<unknown[]>("runs", "ls")).toHaveLength(3);
    expect(await again.interrupt()).toBe(0);
    expect(processesOf(dataDir)).toEqual([]);
  });

  test("whose output nobody reads any more stops in order, and leaves no process", async () => {
    const unread = startDev(dataDir);
    dev = unread;
    await unread.event("ready");
    unread.process.stdout?.destroy();
    const ended = once(unread.process, "exit");
    // Something to say.
    const worker = processesOf(dataDir).find(({ command }) => command.endsWith("apps/worker/src/main.ts"));
    process.kill(worker?.pid ?? 0, "SIGKILL");
    expect((await ended)[0]).toBe(0);
    expect(processesOf(dataDir)).toEqual([]);
  });
});
