import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test } from "vitest";
import { applyOkf } from "./apply-okf.ts";
import { actOn } from "./testing/acts.ts";
import { newWorkspace } from "./testing/new-workspace.ts";

const { sql } = await testDatabase();
const act = actOn(sql);

test("very many nodes are stored in portions, each below its parent, and what changes in all of them too", async () => {
  const me = await newWorkspace(sql);
  const okf = Array.from({ length: 1_250 }, (_, n) => `- a ${n}\n  - b ${n}\n`).join("");
  let portions = 0;
  const edit = (text: string) =>
    act.do(me, (writer) => {
      const tx = new Proxy(writer.tx, {
        apply(target, self, given: [readonly string[]]) {
          if (/(?:insert into|update) nodes\b/.test(given[0].join(""))) portions += 1;
          return Reflect.apply(target, self, given) as unknown;
        },
      });
      return applyOkf({ ...writer, tx }, { page: "P", okf: text });
    });
  const made = await edit(okf);
  if (made.kind !== "applied") throw new Error(made.kind);
  expect(portions).toBe(3);
  expect(await act.outline(me, made.page.id)).toBe(okf);
  const changed = (await act.text(me, made.page.id, true)).replaceAll(/- a (\d+)/g, "- c $1");
  expect(await edit(changed)).toMatchObject({ kind: "applied", changed: 1_250 });
  expect(portions).toBe(5);
  expect(await act.outline(me, made.page.id)).toBe(okf.replaceAll("- a", "- c"));
});
