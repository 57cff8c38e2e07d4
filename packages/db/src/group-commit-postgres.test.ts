import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { connect } from "./connect.ts";
import { createGroupCommit, missed, type Commit } from "./group-commit.ts";
import { testDatabase } from "./testing/test-database.ts";
import { transaction } from "./transaction.ts";

type Bump = { id: string; by: number };

const { sql, url } = await testDatabase();
const own = connect(url, { max: 4 });
afterAll(() => own.end({ timeout: 5 }));

beforeAll(async () => {
  await sql`create table counters (id text primary key, n int not null check (n >= 0))`;
  await sql`
    create function bump(p_ids text[], p_by int[], p_blocking boolean) returns table (id text, n int)
    language plpgsql volatile as $$
    declare
      locked text[];
    begin
      if p_blocking then
        select array_agg(held.id) into locked
          from (select c.id from counters c where c.id = any (p_ids) order by c.id for no key update) held;
      else
        select array_agg(held.id) into locked
          from (select c.id from counters c where c.id = any (p_ids) order by c.id for no key update skip locked) held;
      end if;
      return query
        update counters c set n = c.n + t.by
          from unnest(p_ids, p_by) as t (id, by)
         where c.id = t.id and c.id = any (locked)
        returning c.id, c.n;
    end $$`;
});

beforeEach(async () => {
  await sql`truncate counters`;
  await sql`insert into counters select 'row ' || i, 0 from generate_series(1, 40) i`;
});

function bumps() {
  const sizes: number[] = [];
  const commitOn =
    (on: typeof sql): Commit<Bump, number> =>
    async (moves, { blocking }) => {
      sizes.push(moves.length);
      const rows = await on.unsafe<{ id: string; n: number }[]>(
        "select id, n from bump($1::text[], $2::int[], $3)",
        [moves.map((move) => move.id), moves.map((move) => move.by), blocking],
        { prepare: true },
      );
      const found = new Map(rows.map((row) => [row.id, row.n]));
      return moves.map((move) => found.get(move.id) ?? missed);
    };
  const submit = createGroupCommit({
    commit: commitOn(sql),
    straggle: commitOn(own),
    keysOf: (move: Bump) => [move.id],
  });
  return { submit, sizes };
}

test("two siblings of one row are both counted, however many arrive at once", async () => {
  const { submit, sizes } = bumps();
  const outcomes = await Promise.all(Array.from({ length: 50 }, () => submit({ id: "row 1", by: 1 })));
  expect(outcomes).toEqual(Array.from({ length: 50 }, (_, i) => i + 1));
  expect(Math.max(...sizes)).toBe(1);
});

test("many rows go in few calls", async () => {
  const { submit, sizes } = bumps();
  await Promise.all(Array.from({ length: 40 }, (_, i) => submit({ id: `row ${i + 1}`, by: 1 })));
  expect(sizes).toEqual([40]);
});

test("a row held by somebody else delays its own key alone", async () => {
  const { submit } = bumps();
  const settled = new Set<string>();
  const note = async (id: string) => {
    await submit({ id, by: 1 });
    settled.add(id);
  };
  const { waiting } = await transaction(own, async (tx) => {
    await tx`select 1 from counters where id = 'row 7' for no key update`;
    const waiting = note("row 7");
    const others = Array.from({ length: 40 }, (_, i) => `row ${i + 1}`).filter((id) => id !== "row 7");
    await Promise.all(others.map(note));
    expect([...settled].toSorted()).toEqual(others.toSorted());
    expect(await submit({ id: "row 8", by: 1 })).toBe(2);
    return { waiting };
  });
  await waiting;
  expect(settled).toContain("row 7");
});

test("a poisoned member fails alone, with the database's own error", async () => {
  const { submit } = bumps();
  const outcomes = await Promise.allSettled(
    Array.from({ length: 20 }, (_, i) => submit({ id: `row ${i + 1}`, by: i === 11 ? -5 : 1 })),
  );
  const failed = outcomes.flatMap((outcome, i) =>
    outcome.status === "rejected" ? [[i, (outcome.reason as { code: string }).code]] : [],
  );
  expect(failed).toEqual([[11, "23514"]]);
  const [row] = await sql<{ total: number }[]>`select sum(n)::int as total from counters`;
  expect(row?.total).toBe(19);
});
