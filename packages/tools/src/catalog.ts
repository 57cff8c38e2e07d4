import { summarizeContext } from "@countersign/engine/summarize-context.ts";
import type { Tool } from "@countersign/engine/tool.ts";
import type { Questions } from "@countersign/kb/questions.ts";
import { filesAttach } from "./files-attach.ts";
import { filesList } from "./files-list.ts";
import { filesRead } from "./files-read.ts";
import { humanAsk } from "./human-ask.ts";
import { ingestCapture } from "./ingest-capture.ts";
import { kbAppend } from "./kb-append.ts";
import { kbCorpus } from "./kb-corpus.ts";
import { kbCreate } from "./kb-create.ts";
import { kbEdit } from "./kb-edit.ts";
import { kbExpand } from "./kb-expand.ts";
import { kbGrep } from "./kb-grep.ts";
import { kbNodeEdit } from "./kb-node-edit.ts";
import { kbNodeRead } from "./kb-node-read.ts";
import { kbRead } from "./kb-read.ts";
import { kbRemove } from "./kb-remove.ts";
import { kbSearch } from "./kb-search.ts";
import { mailSend } from "./mail-send.ts";
import { memoryConsolidate } from "./memory-consolidate.ts";
import { memoryPropose } from "./memory-propose.ts";
import { opsHeartbeat } from "./ops-heartbeat.ts";
import { osExec, type OsExecOptions } from "./os-exec.ts";
import { remindersAdd } from "./reminders-add.ts";
import { remindersCancel } from "./reminders-cancel.ts";
import { remindersList } from "./reminders-list.ts";
import { tasksCreate } from "./tasks-create.ts";
import { tasksDoneLog } from "./tasks-done-log.ts";
import { tasksDone } from "./tasks-done.ts";
import { tasksList } from "./tasks-list.ts";

export interface CatalogOptions {
  /** Absent, `os.exec` is not in the catalog at all. */
  readonly osExec?: OsExecOptions | undefined;
  /** Absent, `kb.search` goes by words alone. */
  readonly questions?: Questions | undefined;
}

/** Every built-in tool, by name in the order of the alphabet. A definition offers some of them to its agent. */
export function createCatalog(options: CatalogOptions = {}): readonly Tool[] {
  return [
    filesAttach,
    filesList,
    filesRead,
    humanAsk,
    ingestCapture,
    kbAppend,
    kbCorpus,
    kbCreate,
    kbEdit,
    kbExpand,
    kbGrep,
    kbNodeEdit,
    kbNodeRead,
    kbRead,
    kbRemove,
    kbSearch(options.questions),
    mailSend,
    memoryConsolidate,
    memoryPropose,
    opsHeartbeat,
    ...(options.osExec === undefined ? [] : [osExec(options.osExec)]),
    remindersAdd,
    remindersCancel,
    remindersList,
    summarizeContext,
    tasksCreate,
    tasksDone,
    tasksDoneLog,
    tasksList,
  ];
}
