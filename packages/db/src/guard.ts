import type postgres from "postgres";

type DriverQuery = postgres.PendingQuery<postgres.Row[]> & {
  handler: (query: DriverQuery) => void;
  reject: (error: unknown) => void;
};

/**
 * The same client for one borrower: every statement rejects with the reason of `close`, from then on. The check is
 * made when a statement is sent, not when it is written down: the driver's queries are lazy.
 */
export function guard(client: postgres.Sql) {
  let refusal: Error | undefined;
  let firstError: unknown;

  function guarded(query: unknown): unknown {
    if (!isDriverQuery(query)) return query;
    const send = query.handler;
    query.handler = (sent) => {
      if (refusal !== undefined) return sent.reject(refusal);
      sent.catch((error: unknown) => (firstError ??= error));
      send(sent);
    };
    return query;
  }

  const { options } = client;
  const overrides: Record<string | symbol, unknown> = {
    isTransaction: true,
    unsafe: (...parts: Parameters<postgres.Sql["unsafe"]>) => guarded(client.unsafe(...parts)),
    file: (...parts: Parameters<postgres.Sql["file"]>) => guarded(client.file(...parts)),
    notify: (channel: string, payload: string) => guarded(client`select pg_notify(${channel}, ${payload})`),
    // Drizzle rewrites the parsers of the client that it is given; this connection goes to others afterwards.
    options: { ...options, parsers: { ...options.parsers }, serializers: { ...options.serializers } },
  };
  const sql = new Proxy<postgres.ISql>(client, {
    apply: (target, _this, parts: [TemplateStringsArray]) => guarded(target(...parts)),
    get: (target, name) => (Object.hasOwn(overrides, name) ? overrides[name] : (Reflect.get(target, name) as unknown)),
  });

  return {
    sql,
    firstError: () => firstError,
    close: (reason: Error) => {
      refusal ??= reason;
    },
    assertOpen: () => {
      if (refusal !== undefined) throw refusal;
    },
  };
}

function isDriverQuery(value: unknown): value is DriverQuery {
  return value instanceof Promise && "handler" in value;
}
