import { createServer } from "node:net";
import { afterAll, expect, test } from "vitest";
import { connect } from "./connect.ts";
import { testDatabase } from "./testing/test-database.ts";
import { transaction } from "./transaction.ts";

const { sql } = await testDatabase();

const lists: [string, unknown[]][] = [
  ["text", ['a"b', "c\\d", "", "NULL", "null", "{e,f}", " g ", "h\ni", "é"]],
  ["text", []],
  ["text", [null, "a", null]],
  [
    "text",
    [
      ["a", "b"],
      ["c", null],
    ],
  ],
  ["uuid", ["01890a5d-ac96-774b-bcce-b302099a8057"]],
  ["int", [1, -2, null]],
  ["bigint", [1, 9_007_199_254_740_991]],
  ["float8", [1.5, -1e300]],
];

test.each(lists)("a list of %s is read as it was written, in a pool and in a transaction: %j", async (type, list) => {
  const statement = `select $1::${type}[] as list`;
  const [pooled] = await sql.unsafe<{ list: unknown }[]>(statement, [list as string[]], { prepare: true });
  expect(pooled?.list).toEqual(list);
  const [within] = await transaction(sql, (tx) => tx.unsafe<{ list: unknown }[]>(statement, [list as string[]]));
  expect(within?.list).toEqual(list);
});

test("a list with bounds of its own, and lists of booleans and times, are read", async () => {
  const [row] = await sql<{ bounded: unknown; flags: unknown; times: unknown }[]>`
    select '[2:3]={7,8}'::int[] as bounded, array[true, false, null] as flags,
           array['2026-11-30T07:00:00.123Z'::timestamptz] as times`;
  expect(row).toEqual({
    bounded: [7, 8],
    flags: [true, false, null],
    times: [new Date("2026-11-30T07:00:00.123Z")],
  });
});

test("a new connection sends no query of its own, so none can fail that nobody waits for", async () => {
  const said: string[] = [];
  // Answers every start with a welcome, and every query by ending the connection, as a server that is going down does.
  const server = createServer((socket) => {
    let isWelcome = false;
    socket.on("error", () => undefined);
    socket.on("data", (bytes) => {
      if (isWelcome) {
        said.push(bytes.toString("latin1"));
        socket.destroy();
        return;
      }
      isWelcome = true;
      socket.write(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const client = connect(`postgres://a@127.0.0.1:${port}/a`, { max: 1 });
  afterAll(async () => {
    await client.end({ timeout: 0 });
    server.close();
  });
  await expect(client`select 'asked for' as answer`).rejects.toThrow("CONNECTION_CLOSED");
  expect(said).toHaveLength(1);
  expect(said[0]).toContain("asked for");
});
