import type { AuditHead } from "@countersign/broker/audit-heads.ts";
import { givenAuditKeeper } from "@countersign/broker/testing/audit-keeper.ts";
import { expect, test } from "vitest";
import { expectAccessible, givenStage, keepPicture, phone, soon } from "./stage.ts";

const stage = await givenStage();
const { sql, world } = stage;
const { workspaceId } = world;
const keeper = givenAuditKeeper(sql);

/** What a worker does when it comes to it: with these heads in its folder. */
async function work(heads: readonly AuditHead[]): Promise<void> {
  await soon(() => keeper.check(heads)).toBe(true);
}

test("an administrator has every row checked: which head, how many rows, which are broken, and what it cannot see", async () => {
  const page = await stage.signIn("admin");
  await sql`insert into audit (workspace_id, actor, action) select ${workspaceId}, 'system', 'test.made' from generate_series(1, 40)`;
  await keeper.seal();
  const [head] = await keeper.sign();
  if (head === undefined) throw new Error("no head was signed");
  await page.goto(`${stage.url}/admin/audit`);
  const part = page.locator("section", { has: page.getByRole("heading", { name: "Is it what was sealed?" }) }).last();
  await part.getByText("Nobody has had it checked from here yet.").waitFor();
  const ask = part.getByRole("button", { name: "Check every row" });

  // Nobody is at it: that is said, and so is that one check is enough.
  await ask.click();
  await part.getByText("Asked for. A worker makes the check, since it alone holds the key.").waitFor();
  expect(await ask.isDisabled()).toBe(true);
  await expectAccessible(page);
  await work([]);
  await part.getByText(`All ${head.seq} sealed rows are what was sealed.`).waitFor();
  await part.getByText("No signed head is kept outside the database.").waitFor();
  await keepPicture(page, "admin-audit-sound");

  // With a head outside: up to which row a cut would show.
  await sql`insert into audit (workspace_id, actor, action) values (${workspaceId}, 'system', 'test.made')`;
  await keeper.seal();
  await sql`insert into audit (workspace_id, actor, action) values (${workspaceId}, 'system', 'test.made')`;
  await ask.click();
  await work([head]);
  await part.getByText(`All ${head.seq + 1} sealed rows are what was sealed.`).waitFor();
  await part.getByText(`Rows after no. ${head.seq} have no signed head outside the database yet`).waitFor();
  await part.getByText("One row is not sealed yet; of it nothing can be said.").waitFor();
  await part.getByText(head.hash).first().waitFor();
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    part.getByRole("button", { name: "Take the head" }).click(),
  ]);
  expect(file.suggestedFilename()).toBe("audit-head.jsonl");

  // A row that was changed, and a tail that was cut off with what the database knew of it.
  await sql`update audit set actor = 'user:nobody'
             where id = (select audit_id from audit_chain where workspace_id = ${workspaceId} and seq = 7)`;
  await sql`delete from audit_heads where workspace_id = ${workspaceId}`;
  await sql`delete from audit where id in
            (select audit_id from audit_chain where workspace_id = ${workspaceId} and seq >= ${head.seq})`;
  await sql`delete from audit_chain where workspace_id = ${workspaceId} and seq >= ${head.seq}`;
  await ask.click();
  await work([head]);
  await part.getByText("2 places are not what was sealed.").waitFor();
  await part.getByText("row 7 is not what was sealed").waitFor();
  await part.getByText(`the chain ends at row ${head.seq - 1}; a head signed at`).waitFor();
  await expectAccessible(page);
  await keepPicture(page, "admin-audit-broken");
  const checks = await sql`select asked_by as "askedBy", finished_at is not null as "isOver" from audit_checks`;
  expect(checks).toEqual(Array.from({ length: 3 }, () => ({ askedBy: world.admin, isOver: true })));

  // Whoever comes later finds the last one.
  const small = await stage.signIn("admin", phone);
  await small.goto(`${stage.url}/admin/audit`);
  await small.getByText("2 places are not what was sealed.").waitFor();
  await expectAccessible(small);
  await keepPicture(small, "admin-audit-phone");
  await small.context().close();
  await page.context().close();
}, 150_000);

test("a row says what it is about", async () => {
  await sql`insert into audit (workspace_id, actor, action, subject)
            values (${workspaceId}, 'system', 'capability.acquired', 'mail.send')`;
  const page = await stage.signIn("admin");
  await page.goto(`${stage.url}/admin/audit?action=capability.acquired`);
  await page.getByRole("row", { name: "mail.send" }).waitFor();
  await expectAccessible(page);
  await page.context().close();
});

test("the audit's filter is in its address, and what it leaves nothing of is another emptiness", async () => {
  const page = await stage.signIn("admin");
  await page.goto(`${stage.url}/admin/audit`);
  await page.getByText("session.started").first().waitFor();
  const field = page.getByLabel(/^Action/);
  await field.fill("nothing.happened");
  await page.keyboard.press("Enter");
  await page.getByText("Nothing of this action was done.").waitFor();
  expect(new URL(page.url()).search).toBe("?action=nothing.happened");
  expect(await field.evaluate((element) => element === document.activeElement)).toBe(true);
  await page.reload();
  await page.getByText("Nothing of this action was done.").waitFor();
  expect(await field.inputValue()).toBe("nothing.happened");
  await page.context().close();
});
