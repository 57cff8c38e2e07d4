import { randomUUID } from "node:crypto";
import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "@countersign/db/connect.ts";
import { migrate } from "@countersign/db/migrate.ts";
import { databaseUrl } from "@countersign/db/testing/database-url.ts";
import { testDatabase } from "@countersign/db/testing/test-database.ts";
import { expect, test } from "vitest";

const { sql: admin, url } = await testDatabase();
const migrations = join(import.meta.dirname, "../../../migrations");

test("pages that were stored before files and ids were noted have theirs noted", async () => {
  const name = `before_${randomUUID().replaceAll("-", "")}`;
  await admin`create database ${admin(name)} template template0`;
  const sql = connect(databaseUrl(url, name), { max: 2 });
  const old = mkdtempSync(join(tmpdir(), "countersign-migrations-"));
  try {
    for (const file of readdirSync(migrations).filter((file) => file < "0101"))
      cpSync(join(migrations, file), join(old, file));
    await migrate(sql, { migrationsDir: old, functionDirs: [] });
    const [workspaceId, userId] = [randomUUID(), randomUUID()];
    const [moved, made, named, node, removed] = [randomUUID(), randomUUID(), randomUUID(), randomUUID(), randomUUID()];
    await sql`insert into workspaces (id, name) values (${workspaceId}, 'test')`;
    await sql`insert into users (id, workspace_id, name, role) values (${userId}, ${workspaceId}, 'x', 'operator')`;
    for (const dir of ["", "a", "b"])
      await sql`insert into directories (workspace_id, dir, key) values (${workspaceId}, ${dir}, ${dir})`;
    const page = (id: string, dir: string, slug: string, fileName: string | null, revision: number) => sql`
      insert into pages (id, workspace_id, dir, title, slug, type, frontmatter, line_end, file_name, revision, imported_revision)
      values (${id}, ${workspaceId}, ${dir}, ${slug}, ${slug}, 'Page', '', chr(10), ${fileName}, ${revision}, ${fileName === null ? null : 1})`;
    await page(moved, "b", "x", "x.md", 2);
    await page(made, "a", "made", null, 2);
    await page(named, "", "noext", "noext", 1);
    await sql`insert into nodes (id, workspace_id, page_id, order_key, kind, text) values (${node}, ${workspaceId}, ${made}, 'a0', 'bullet', 'x')`;
    const command = (pageId: string, revision: number, kind: string, before: object | null, after: object) => sql`
      insert into commands (id, workspace_id, page_id, revision, kind, user_id, before, after)
      values (${randomUUID()}, ${workspaceId}, ${pageId}, ${revision}, ${kind}, ${userId},
              ${before === null ? null : JSON.stringify(before)}, ${JSON.stringify(after)})`;
    await command(moved, 1, "page.imported", null, { page: { frontmatter: "", title: "x", dir: "a" } });
    await command(moved, 2, "page.moved", { page: { dir: "a" } }, { page: { dir: "b" } });
    await command(made, 1, "page.created", null, { page: { frontmatter: "", title: "made", dir: "a" } });
    await command(
      made,
      2,
      "node.removed",
      { nodes: [{ id: removed, text: "NUL is not here: \\u0000" }] },
      { nodes: [] },
    );
    await command(named, 1, "page.imported", null, { page: { frontmatter: "", title: "noext", dir: "" } });

    await migrate(sql, { functionDirs: [] });
    expect(await sql`select page_id, path, imported_revision from page_files order by path collate "C"`).toEqual([
      { page_id: made, path: "a/made.md", imported_revision: null },
      { page_id: moved, path: "a/x.md", imported_revision: 1 },
      { page_id: moved, path: "b/x.md", imported_revision: null },
      { page_id: named, path: "noext.md", imported_revision: 1 },
    ]);
    expect(await sql`select id, page_id from node_ids order by id = ${node} desc`).toEqual([
      { id: node, page_id: made },
      { id: removed, page_id: made },
    ]);
  } finally {
    rmSync(old, { recursive: true });
    await sql.end({ timeout: 5 });
    await admin`drop database ${admin(name)} with (force)`;
  }
});
