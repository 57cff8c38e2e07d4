import type { Sql } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { applyOkf, type ApplyOkfResult, type OkfEdit } from "../apply-okf.ts";
import type { FileState } from "../file-bases.ts";
import { importPage, type ImportPageResult } from "../import-page.ts";
import { readPage } from "../read-page.ts";
import type { Writer } from "../scope.ts";

export type Person = Omit<Writer, "tx">;

/** What the tests do as somebody, each in a transaction of its own. */
export function actOn(sql: Sql) {
  return {
    do<R>(by: Person, body: (writer: Writer) => Promise<R>): Promise<R> {
      return transaction(sql, (tx) => body({ tx, ...by }));
    },
    edit(by: Person, edit: OkfEdit): Promise<ApplyOkfResult> {
      return this.do(by, (writer) => applyOkf(writer, edit));
    },
    /** Makes a page with this outline, or fails. */
    async page(by: Person, page: string, okf: string, dir?: string) {
      const result = await this.edit(by, { page, okf, dir });
      if (result.kind !== "applied") throw new Error(`expected a page, got ${JSON.stringify(result)}`);
      return result.page;
    },
    importFile(by: Person, path: string, source: string, from?: FileState): Promise<ImportPageResult> {
      const parts = path.split("/");
      const fileName = parts.pop() ?? "";
      return this.do(by, (writer) => importPage(writer, { dir: parts.join("/"), fileName, source, from }));
    },
    async text(by: Person, pageId: string, withIds = false): Promise<string> {
      const page = await this.do(by, (writer) => readPage(writer, pageId, { withIds }));
      if (page === undefined) throw new Error(`${pageId} is not to be seen`);
      return page.markdown;
    },
    /** The outline without frontmatter. */
    async outline(by: Person, pageId: string, withIds = false): Promise<string> {
      return (await this.text(by, pageId, withIds)).replace(/^---\n[\s\S]*?\n---\n\n?/, "");
    },
    async ids(by: Person, pageId: string): Promise<string[]> {
      return [...(await this.text(by, pageId, true)).matchAll(/<!--([0-9a-f-]{36})-->/g)].map(([, id]) => id ?? "");
    },
  };
}
