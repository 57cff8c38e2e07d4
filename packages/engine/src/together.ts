import { isOutcomeUnknown } from "@countersign/db/connection-errors.ts";

export interface Together<T, R> {
  /** Does all of it in one statement. */
  readonly together: () => Promise<readonly R[]>;
  /** Of whom the statement is about, and some behind them: read only where it has failed. */
  readonly members: () => Promise<readonly T[]>;
  readonly alone: (member: T) => Promise<readonly R[]>;
  /** Told of each member that fails also alone; unless given, the first error is thrown once all others are done. */
  readonly onFailure?: ((member: T, error: unknown) => void | Promise<void>) | undefined;
  /** What has been done is as much as was asked for. */
  readonly isEnough?: (done: readonly R[]) => boolean;
}

/**
 * One statement for many; where it fails, each member alone, so that one whose rows are at fault harms only itself. What is
 * nobody's fault (the connection, the server, the program) is thrown, or where some are done already, ends what is left.
 */
export async function togetherOrAlone<T, R>(options: Together<T, R>): Promise<readonly R[]> {
  const { together, members, alone, onFailure, isEnough = () => false } = options;
  try {
    return await together();
  } catch (error) {
    if (isNobodysFault(error)) throw error;
  }
  const done: R[] = [];
  const errors: unknown[] = [];
  for (const member of await members()) {
    if (isEnough(done)) break;
    try {
      done.push(...(await alone(member)));
    } catch (error) {
      errors.push(error);
      await onFailure?.(member, error);
      if (isNobodysFault(error)) break;
    }
  }
  if (onFailure === undefined && errors.length > 0) throw errors[0];
  return done;
}

/** SQLSTATE of a server that takes no writes, of a statement that does not fit the schema, and of one without disk, memory or connections left. */
const ofAll = /^(25...|42...|53...)$/;

/** SQLSTATE of bad values, constraints, limits of size, raised errors and damaged rows: what the moment has no part in. */
const ofRows = /^(2[123]...|54...|P0...|XX...)$/;

function isNobodysFault(error: unknown): boolean {
  return isOutcomeUnknown(error) || ofAll.test(sqlStateOf(error));
}

/** True where a statement failed for what stands in its rows, so that trying again will not help. */
export function isFaultOfRows(error: unknown): boolean {
  return ofRows.test(sqlStateOf(error));
}

function sqlStateOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}
