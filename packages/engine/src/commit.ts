import type { Queryable } from "@countersign/db/connect.ts";
import { missed } from "@countersign/db/group-commit.ts";
import { EngineError } from "./engine-error.ts";

/**
 * One kind of change of durable state: the call of the SQL function of the same name, which takes an array per column
 * and answers one row per run. Sent through a committer, or within a transaction that must share its fate.
 */
export interface CommitKind<T, R> {
  readonly name: string;
  /** The runs a transition touches: no two members of one batch share a run. */
  readonly runsOf: (transition: T) => readonly string[];
  /** The most transitions of a batch, where it is not the usual; a commit that spans runs goes alone. */
  readonly max?: number;
  /** True where the outcome made a run ready, so that an idle worker is to be told. */
  readonly wakes: (outcome: R) => boolean;
  /** One statement, one round trip; `missed` stands for a run that was locked and that it was told not to wait for. */
  send(
    sql: Queryable,
    transitions: readonly T[],
    how: { readonly blocking: boolean },
  ): Promise<readonly (R | typeof missed)[]>;
}

/** A column of transitions, passed as one typed array: `unnest` of those is what makes a commit cheap (measured 4:1 over JSON). */
export interface Column<T> {
  readonly sqlType: string;
  readonly valueOf: (transition: T) => string | number | null;
}

type Nullable<V> = V | null | undefined;

/** A column of ids; a transition without one has null. */
export function uuid<T>(of: (transition: T) => Nullable<string>): Column<T> {
  return { sqlType: "uuid[]", valueOf: (transition) => of(transition) ?? null };
}

/** A column of text; a transition without one has null. */
export function text<T>(of: (transition: T) => Nullable<string>): Column<T> {
  return { sqlType: "text[]", valueOf: (transition) => of(transition) ?? null };
}

/** A column of whole numbers of 32 bits; a transition without one has null. */
export function integer<T>(of: (transition: T) => Nullable<number>): Column<T> {
  return { sqlType: "int[]", valueOf: (transition) => of(transition) ?? null };
}

/** Whole numbers beyond 32 bits: durations in milliseconds, epochs, money in millionths. */
export function bigint<T>(of: (transition: T) => Nullable<number>): Column<T> {
  return {
    sqlType: "bigint[]",
    valueOf: (transition) => {
      const value = of(transition);
      return value === null || value === undefined ? null : Math.round(value);
    },
  };
}

/** A moment, to the millisecond. */
export function moment<T>(of: (transition: T) => Nullable<Date>): Column<T> {
  return { sqlType: "text[]::timestamptz[]", valueOf: (transition) => of(transition)?.toISOString() ?? null };
}

/** Sent as 0 and 1: the driver would declare an array that starts with a boolean as one boolean. */
export function boolean<T>(of: (transition: T) => boolean): Column<T> {
  return { sqlType: "int[]::boolean[]", valueOf: (transition) => Number(of(transition)) };
}

type Columns<T> = Readonly<Record<string, Column<T>>>;

/** Rows that belong to a transition, such as the calls of a turn; the SQL function finds their owner by a column of theirs. */
export interface Details<T> {
  readonly columns: readonly string[];
  readonly typesOf: readonly string[];
  valuesOf(transitions: readonly T[]): (string | number | null)[][];
}

/** Declares the rows that hang off each transition, as columns over the row and its transition. */
export function detailsOf<T, D>(
  rowsOf: (transition: T) => readonly D[],
  columns: Columns<{ readonly row: D; readonly of: T }>,
): Details<T> {
  const entries = Object.entries(columns);
  return {
    columns: entries.map(([name]) => name),
    typesOf: entries.map(([, column]) => column.sqlType),
    valuesOf(transitions) {
      const pairs = transitions.flatMap((of) => rowsOf(of).map((row) => ({ row, of })));
      return entries.map(([, column]) => pairs.map((pair) => column.valueOf(pair)));
    },
  };
}

interface CommitDefinition<T, Row extends { run_id: string }, R> {
  readonly name: string;
  readonly runOf: (transition: T) => string;
  readonly columns: Columns<T>;
  readonly details?: Details<T>;
  readonly outcomeOf: (row: Row, transition: T) => R;
  readonly wakes?: (outcome: R) => boolean;
}

/**
 * Declares a commit: `name` is its SQL function, `columns` its array parameters by name. The function answers a row per
 * run that it locked; a run without a row was `missed`, or does not exist where the call was blocking.
 */
export function defineCommit<T, Row extends { run_id: string }, R>(
  definition: CommitDefinition<T, Row, R>,
): CommitKind<T, R> {
  const { name, runOf, details, outcomeOf } = definition;
  const columns = Object.entries(definition.columns);
  const parameters = [
    ...columns.map(([column, { sqlType }]) => ({ column, sqlType })),
    ...(details?.columns.map((column, index) => ({ column, sqlType: details.typesOf[index] })) ?? []),
    { column: "p_blocking", sqlType: "int::boolean" },
  ];
  const list = parameters.map(({ column, sqlType }, index) => `${column} => $${index + 1}::${sqlType}`);
  const statement = `select * from ${name}(${list.join(", ")})`;

  return {
    name,
    runsOf: (transition) => [runOf(transition)],
    wakes: definition.wakes ?? (() => false),
    async send(sql, transitions, { blocking }) {
      const values = [
        ...columns.map(([, column]) => transitions.map((transition) => column.valueOf(transition))),
        ...(details?.valuesOf(transitions) ?? []),
        Number(blocking),
      ];
      const rows = await sql.unsafe<Row[]>(statement, values, { prepare: true });
      const byRun = new Map(rows.map((row) => [row.run_id, row]));
      return transitions.map((transition) => {
        const row = byRun.get(runOf(transition));
        if (row !== undefined) return outcomeOf(row, transition);
        if (!blocking) return missed;
        throw new EngineError("unknown_run", `${name}: there is no run ${runOf(transition)}`);
      });
    },
  };
}

/** Sends one transition within a transaction of the caller's, waiting for its locks. */
export async function commitWithin<T, R>(tx: Queryable, kind: CommitKind<T, R>, transition: T): Promise<R> {
  const [outcome] = await kind.send(tx, [transition], { blocking: true });
  return outcome as R;
}
