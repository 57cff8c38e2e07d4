import postgres from "postgres";
import { knowArrayTypes } from "./array-types.ts";
import { createLender } from "./lender.ts";
import { Refusal } from "./refusal.ts";
import { silentSockets } from "./silent-socket.ts";

/** A pool of connections to the one database. */
export type Sql = postgres.Sql;

/** For functions of a single statement that do not mind whether they run in a transaction. */
export type Queryable = postgres.ISql;

/** A transaction in progress, handed out by `transaction` only: what is sent on it becomes true together or not at all. */
export type Tx = Queryable & { readonly isTransaction: true };

export type ConnectOptions = {
  /** The most connections for single statements, and as many again for transactions; each is opened when needed. */
  max?: number;
  /** Shown in pg_stat_activity; says which process and which purpose. */
  applicationName?: string;
  /** False only behind a pooler that cannot keep prepared statements; unless given, the address says (`?prepare=false`). */
  prepare?: boolean;
  /** How long an unused connection is kept; 0 keeps it. */
  idleTimeoutSeconds?: number;
  connectTimeoutSeconds?: number;
  /**
   * How long a connection may carry nothing before it counts as lost: what is in hand on it then rejects, its outcome
   * unknown. For clients none of whose statements takes that long. Unless given, only the system finds that out.
   */
  silentMs?: number;
};

/**
 * A client for the database at `url`; nothing is sent until the first query.
 * `int8` arrives as a number (one beyond 2^53 throws), other types as the driver has them; arrays may be parameters
 * (`$1::uuid[]`); NOTICEs are dropped. Throws Refusal, which repeats nothing of it, for a `url` that is no address. A
 * refused connection rejects the query that needed it. `sql.end({ timeout })` waits for what is in hand, 10 seconds unless
 * told otherwise.
 */
export function connect(url: string, options: ConnectOptions = {}): Sql {
  if (!isAddress(url)) {
    throw new Refusal(
      "The address of the database cannot be read. Set DATABASE_URL, and DATABASE_DIRECT_URL if it is set, to postgres://user:password@host/database; in a password write / as %2F, @ as %40, # as %23, ? as %3F and % as %25.",
    );
  }
  const max = options.max ?? 10;
  const idleTimeoutSeconds = options.idleTimeoutSeconds ?? 0;
  const settings = {
    ...(options.prepare === undefined ? {} : { prepare: options.prepare }),
    connect_timeout: options.connectTimeoutSeconds ?? 10,
    fetch_types: false,
    onnotice: () => {},
    ...(options.silentMs === undefined ? {} : { socket: silentSockets(options.silentMs) }),
    connection: { application_name: options.applicationName ?? "countersign" },
    types: { int8: { to: 20, from: [20], serialize: String, parse: parseInt8 } },
  };
  const open = (over: postgres.Options<{ int8: postgres.PostgresType<number> }>): Sql => {
    const client = postgres(url, { ...settings, ...over }) as unknown as Sql;
    knowArrayTypes(client);
    return client;
  };
  const sql = open({ max, idle_timeout: idleTimeoutSeconds });
  // The driver's own timers would close a lent connection between two statements of its transaction.
  const openOne = (onclose: () => void) => open({ max: 1, idle_timeout: 0, max_lifetime: null, onclose });
  const lender = createLender({ openOne, max, idleTimeoutMs: idleTimeoutSeconds * 1000 });
  lenders.set(sql, lender);

  const endPool = sql.end.bind(sql);
  // Without a timeout the driver (3.4.9) waits forever for a connection that died in mid-statement.
  sql.end = async ({ timeout = 10 } = {}) => {
    await Promise.all([endPool({ timeout }), lender.end(timeout * 1000)]);
  };
  return sql;
}

function isAddress(url: string): boolean {
  try {
    // The driver decodes its parts.
    return /^postgres(ql)?:$/.test(new URL(url).protocol) && decodeURIComponent(url) !== "";
  } catch {
    return false;
  }
}

const lenders = new WeakMap<object, ReturnType<typeof createLender>>();

/** Where the transactions of this client get their connections; throws for one not made by `connect`. */
export function lenderOf(sql: Sql): ReturnType<typeof createLender> {
  const lender = lenders.get(sql);
  if (lender === undefined) throw new TypeError("A transaction needs the client that connect() returned");
  return lender;
}

function parseInt8(text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value)) return value;
  throw new RangeError(`int8 ${text} does not fit a JavaScript number exactly; select it as text`);
}
