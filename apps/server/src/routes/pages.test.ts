import { randomUUID } from "node:crypto";
import { engineDatabase } from "@countersign/engine/testing/engine-database.ts";
import { afterAll, describe, expect, test } from "vitest";
import { givenPeople, type Role, send, startTestServer } from "../testing/harness.ts";
import { createToken } from "../tokens.ts";

const { sql, url } = await engineDatabase();
const server = await startTestServer(url);
afterAll(() => server.stop());

async function givenKnowledge() {
  const world = await givenPeople(sql);
  const as = (role: Role, method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    send(server, world.tokens[role], method, path, { ...(body === undefined ? {} : { body }), headers });
  const page = async (title: string, okf: string, dir = "") => {
    const made = await as("operator", "POST", "/v1/pages", { title, okf, dir });
    expect(made.status).toBe(200);
    return String(made.body["pageId"]);
  };
  return { world, as, page };
}

describe("a page", () => {
  test("is made, read with its revision as ETag, changed on sight of it, and merged where it moved on", async () => {
    const { as, page } = await givenKnowledge();
    const id = await page("P", "- a\n- b\n");
    const read = await as("viewer", "GET", `/v1/pages/${id}`);
    expect(read.headers.get("etag")).toBe('"1"');
    const okf = String(read.body["okf"]);
    const first = await as(
      "operator",
      "PUT",
      `/v1/pages/${id}`,
      { okf: okf.replace("- a", "- A") },
      { "if-match": '"1"' },
    );
    expect(first.body).toMatchObject({ outcome: "changed", revision: 2, changed: 1, isMerged: false });
    const second = await as(
      "admin",
      "PUT",
      `/v1/pages/${id}`,
      { okf: okf.replace("- b", "- B") },
      { "if-match": '"1"' },
    );
    expect(second.body).toMatchObject({ outcome: "changed", revision: 3, isMerged: true });
    const third = await as(
      "admin",
      "PUT",
      `/v1/pages/${id}`,
      { okf: okf.replace("- b", "- other") },
      { "if-match": '"1"' },
    );
    expect(third).toMatchObject({ status: 412, body: { code: "stale" } });
    expect(String((await as("viewer", "GET", `/v1/pages/${id}`)).body["okf"])).toMatch(/- A <!--.*\n- B <!--/);
    expect(await as("operator", "PUT", `/v1/pages/${id}`, { okf })).toMatchObject({ status: 428 });
  });

  test("that bears a taken title is refused, and a keyed request makes it once", async () => {
    const { as, page } = await givenKnowledge();
    await page("P", "- a\n");
    expect(await as("operator", "POST", "/v1/pages", { title: "p" })).toMatchObject({
      status: 409,
      body: { code: "name_taken" },
    });
    expect(await as("operator", "POST", "/v1/pages", { title: "a\nb" })).toMatchObject({
      status: 422,
      body: { code: "unfit_page" },
    });
    const key = { "idempotency-key": randomUUID() };
    const made = await as("operator", "POST", "/v1/pages", { title: "Q" }, key);
    expect((await as("operator", "POST", "/v1/pages", { title: "Q" }, key)).body).toEqual(made.body);
  });

  test("is renamed in its links, removed, listed among the removed, and brought back", async () => {
    const { as, page } = await givenKnowledge();
    const target = await page("T", "- a\n");
    const source = await page("S", "- [[T]]\n");
    expect((await as("operator", "PATCH", `/v1/pages/${target}`, { title: "U" })).body).toMatchObject({
      renamedLinks: 1,
    });
    const read = await as("viewer", "GET", `/v1/pages/${source}`);
    expect(read.body).toMatchObject({ links: [{ id: target, title: "U" }] });
    const removed = await as("operator", "DELETE", `/v1/pages/${target}`);
    expect(removed.body).toMatchObject({ outcome: "removed" });
    expect((await as("viewer", "GET", `/v1/pages/${target}`)).status).toBe(404);
    expect((await as("viewer", "GET", "/v1/pages?removed=true")).body).toMatchObject({ pages: [{ id: target }] });
    expect((await as("operator", "POST", `/v1/commands/${String(removed.body["commandId"])}/undo`)).status).toBe(200);
    expect((await as("viewer", "GET", `/v1/pages/${target}`)).status).toBe(200);
  });

  test("of a program may not say that a person verified it", async () => {
    const { world, as } = await givenKnowledge();
    const service = randomUUID();
    await sql`insert into users (id, workspace_id, name, role, is_service) values (${service}, ${world.workspaceId}, 'Bot', 'operator', true)`;
    const { token } = await createToken(sql, {
      workspaceId: world.workspaceId,
      userId: service,
      label: "bot",
      mayDecide: false,
    });
    const okf = "---\ntype: Page\nverified: {by: human:ann}\n---\n- a\n";
    expect(await send(server, token, "POST", "/v1/pages", { body: { title: "V", okf } })).toMatchObject({
      status: 422,
    });
    expect(
      await send(server, token, "POST", "/v1/import", { body: { files: [{ path: "v.md", text: okf }] } }),
    ).toMatchObject({
      body: { files: [{ outcome: "skipped" }] },
    });
    expect((await as("operator", "POST", "/v1/pages", { title: "V", okf })).status).toBe(200);
  });
});

test("a node is read as a fragment, changed and removed, and each change is in the history", async () => {
  const { as, page } = await givenKnowledge();
  const id = await page("P", "- a\n  - b\n- c\n");
  const nodes = (await as("viewer", "GET", `/v1/pages/${id}`)).body["nodes"] as { id: string; text: string }[];
  const [a, , c] = nodes;
  const read = await as("viewer", "GET", `/v1/nodes/${a?.id}`);
  expect(read.body).toMatchObject({ kind: "bullet", text: "a", revision: 1 });
  const put = await as(
    "operator",
    "PUT",
    `/v1/nodes/${a?.id}`,
    { okf: "- A\n  - b\n  - new\n" },
    { "if-match": '"1"' },
  );
  expect(put.body).toMatchObject({ outcome: "changed", added: 1 });
  expect((await as("operator", "DELETE", `/v1/nodes/${c?.id}`)).body).toMatchObject({ removed: 1 });
  const history = await as("viewer", "GET", `/v1/commands?page=${id}`);
  const commands = history.body["commands"] as { id: string; kind: string }[];
  expect(commands.map(({ kind }) => kind)).toEqual(["node.removed", "node.edited", "page.created"]);
  expect((await as("viewer", "GET", `/v1/commands/${commands[0]?.id}`)).body).toMatchObject({
    before: { nodes: [{ text: "c" }] },
    after: { nodes: [] },
  });
});

test("pages are found by words, by text and by directory, and files go in and out", async () => {
  const { as } = await givenKnowledge();
  const text = "---\ntype: T\n---\n\n- 用户身份\n";
  const files = [
    { path: "d/one.md", text },
    { path: "../out.md", text },
    { path: "bad.md", text: "a\0" },
  ];
  const imported = await as("operator", "POST", "/v1/import", { dir: "in", files });
  expect(imported.body).toMatchObject({
    files: [{ outcome: "imported" }, { outcome: "skipped" }, { outcome: "skipped" }],
  });
  expect((await as("viewer", "GET", "/v1/search?q=用户")).body).toMatchObject({ hits: [{ pageTitle: "one" }] });
  expect((await as("viewer", "GET", "/v1/search?q=x&kinds=nothing")).status).toBe(422);
  expect((await as("viewer", "GET", "/v1/grep?pattern=户身")).body).toMatchObject({ total: 1 });
  expect((await as("viewer", "GET", "/v1/grep?pattern=(&regex=true")).status).toBe(422);
  expect((await as("viewer", "GET", "/v1/directories")).body).toMatchObject({ dirs: [{ dir: "in", pageCount: 1 }] });
  expect((await as("viewer", "GET", "/v1/directories?dir=nowhere")).status).toBe(404);
  expect((await as("viewer", "GET", "/v1/export")).body).toEqual({
    files: [{ path: "in/d/one.md", text, from: { revision: 1, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) } }],
    nextCursor: null,
  });
});

test("what a rule closes is not there for others, over any route", async () => {
  const { world, as, page } = await givenKnowledge();
  const id = await page("Xanadu", "- gold\n", "vault");
  const { commands } = (await as("operator", "GET", `/v1/commands?page=${id}`)).body as { commands?: { id: string }[] };
  const nodes = (await as("operator", "GET", `/v1/pages/${id}`)).body["nodes"] as { id: string }[];
  expect((await as("operator", "PUT", "/v1/access-rules", { dir: "vault", level: "none" })).status).toBe(403);
  expect((await as("admin", "PUT", "/v1/access-rules", { dir: "vault", level: "none" })).status).toBe(200);
  await as("admin", "PUT", "/v1/access-rules", { dir: "vault", userId: world.operator, level: "write" });
  const rules = (await as("admin", "GET", "/v1/access-rules")).body["rules"] as { id: string; user: object | null }[];
  expect(rules).toHaveLength(2);
  for (const path of [`/v1/pages/${id}`, `/v1/nodes/${nodes[0]?.id}`, `/v1/commands/${commands?.[0]?.id}`]) {
    expect((await as("operator", "GET", path)).status, path).toBe(200);
    expect((await as("viewer", "GET", path)).status, path).toBe(404);
    // An administrator may change the rules, and does not read around them.
    expect((await as("admin", "GET", path)).status, path).toBe(404);
  }
  for (const path of [
    "/v1/pages",
    "/v1/search?q=gold",
    "/v1/grep?pattern=gold",
    "/v1/directories",
    "/v1/commands",
    "/v1/export",
  ]) {
    expect(JSON.stringify((await as("operator", "GET", path)).body), path).toMatch(/gold|Xanadu|vault/);
    expect(JSON.stringify((await as("viewer", "GET", path)).body), path).not.toMatch(/gold|Xanadu|vault/);
  }
  await as("admin", "PUT", "/v1/access-rules", { dir: "vault", userId: world.operator, level: "read" });
  for (const { id } of rules) await as("admin", "DELETE", `/v1/access-rules/${id}`);
  const audited = await sql`
    select action, details from audit
     where workspace_id = ${world.workspaceId} and action like 'access_rule%' order by id`;
  const [closed, opened] = [
    { dir: "vault", pageId: null, userId: null, level: "none" },
    { dir: "vault", pageId: null, userId: world.operator, level: "write" },
  ];
  expect(audited).toEqual([
    { action: "access_rule.set", details: { ...closed, levelBefore: null } },
    { action: "access_rule.set", details: { ...opened, levelBefore: null } },
    { action: "access_rule.set", details: { ...opened, level: "read", levelBefore: "write" } },
    { action: "access_rule.removed", details: closed },
    { action: "access_rule.removed", details: { ...opened, level: "read" } },
  ]);
});

describe("the list of pages", () => {
  const titlesOf = ({ body }: { body: Record<string, unknown> }) =>
    (body["pages"] as { title: string }[]).map(({ title }) => title);

  test("goes on by title where it stopped, also behind a page that was renamed, removed or closed meanwhile", async () => {
    const { as, page } = await givenKnowledge();
    const long = "𝄞 長い ".repeat(25);
    const ids = new Map<string, string>();
    for (const title of ["a", "b b", "c", "d", long])
      ids.set(title, await page(title, "- x\n", title === "c" ? "vault" : ""));
    const onTo = async (from: string) => titlesOf(await as("viewer", "GET", `/v1/pages?limit=1&cursor=${from}`));
    const cursors: string[] = [];
    for (let at = ""; cursors.length < 4;) {
      const listed = await as("viewer", "GET", `/v1/pages?limit=1${at}`);
      cursors.push(String(listed.body["nextCursor"]));
      at = `&cursor=${cursors.at(-1)}`;
    }
    const [a = "", b = "", c = "", d = ""] = cursors;
    await as("operator", "PATCH", `/v1/pages/${ids.get("a")}`, { title: "zz" });
    await as("operator", "DELETE", `/v1/pages/${ids.get("b b")}`);
    await as("admin", "PUT", "/v1/access-rules", { dir: "vault", level: "none" });
    expect([await onTo(a), await onTo(b), await onTo(c)]).toEqual([["d"], ["d"], ["d"]]);
    const rest = await as("viewer", "GET", `/v1/pages?limit=1&cursor=${d}`);
    expect(titlesOf(rest)).toEqual(["zz"]);
    const last = await as("viewer", "GET", `/v1/pages?limit=1&cursor=${String(rest.body["nextCursor"])}`);
    expect(titlesOf(last)).toEqual([long.trim()]);
  });

  test("takes a cursor that names a page only by what it says itself, so that none tells of a closed page", async () => {
    const { as, page } = await givenKnowledge();
    const other = await givenKnowledge();
    for (const title of ["a", "m", "z"]) await page(title, "- x\n");
    const hidden = [await page("layoffs", "- x\n", "vault"), await other.page("layoffs", "- x\n")];
    await as("admin", "PUT", "/v1/access-rules", { dir: "vault", level: "none" });
    const go = (text: string) =>
      as("viewer", "GET", `/v1/pages?cursor=${Buffer.from(`pages.false ${text}`).toString("base64url")}`);
    for (const id of hidden) {
      for (const text of [id, `${id} `, `${"-".repeat(36)} a`, `${id} \0`]) {
        expect(await go(text), text).toMatchObject({ status: 400, body: { code: "invalid_cursor" } });
      }
      expect(titlesOf(await go(`${id} b`))).toEqual(["m", "z"]);
    }
  });
});

test("a run about a page and a node of it puts its card there; a page that its starter does not see is refused", async () => {
  const { world, as, page } = await givenKnowledge();
  const id = await page("P", "- a\n");
  const [node] = (await as("operator", "GET", `/v1/pages/${id}`)).body["nodes"] as { id: string }[];
  const started = await as("operator", "POST", "/v1/runs", {
    definition: "agent",
    input: "go",
    page: id,
    node: node?.id,
  });
  expect(started.status).toBe(200);
  expect(await sql`select page_id, node_id from runs where id = ${String(started.body["id"])}`).toEqual([
    { page_id: id, node_id: node?.id },
  ]);
  for (const body of [{ page: randomUUID() }, { page: id, node: randomUUID() }]) {
    expect((await as("operator", "POST", "/v1/runs", { definition: "agent", input: "go", ...body })).status).toBe(404);
  }
  expect((await as("operator", "POST", "/v1/runs", { definition: "agent", input: "go", node: node?.id })).status).toBe(
    422,
  );
  await as("admin", "PUT", "/v1/access-rules", { pageId: id, userId: world.operator, level: "none" });
  expect((await as("operator", "POST", "/v1/runs", { definition: "agent", input: "go", page: id })).status).toBe(404);
});
