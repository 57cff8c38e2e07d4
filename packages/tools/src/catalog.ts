import { summarizeContext } from "@countersign/engine/summarize-context.ts";
import type { Tool } from "@countersign/engine/tool.ts";
import { filesRead } from "./files-read.ts";
import { humanAsk } from "./human-ask.ts";
import { kbAppend } from "./kb-append.ts";
import { kbCreate } from "./kb-create.ts";
import { kbGrep } from "./kb-grep.ts";
import { kbRead } from "./kb-read.ts";
import { mailSend } from "./mail-send.ts";
import { osExec, type OsExecOptions } from "./os-exec.ts";
import { tasksCreate } from "./tasks-create.ts";
import { tasksDoneLog } from "./tasks-done-log.ts";
import { tasksDone } from "./tasks-done.ts";
import { tasksList } from "./tasks-list.ts";

export interface CatalogOptions {
  /** Absent, `os.exec` is not in the catalog at all. */
  readonly osExec?: OsExecOptions | undefined;
}

/** Every built-in tool, by name in the order of the alphabet. A definition offers some of them to its agent. */
export function createCatalog(options: CatalogOptions = {}): readonly Tool[] {
  return [
    filesRead,
    humanAsk,
    kbAppend,
    kbCreate,
    kbGrep,
    kbRead,
    mailSend,
    ...(options.osExec === undefined ? [] : [osExec(options.osExec)]),
    summarizeContext,
    tasksCreate,
    tasksDone,
    tasksDoneLog,
    tasksList,
  ];
}
