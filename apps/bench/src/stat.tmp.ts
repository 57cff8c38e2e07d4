import { connect } from "@countersign/db/connect.ts";
import { startOwnPostgres } from "./own-postgres.ts";
import { measure } from "./measure.ts";
import { ours } from "./ours.ts";
const pg = await startOwnPostgres();
const url = await pg.createDatabase("ours");
const sql = connect(url, {max:1});
await sql`create extension pg_stat_statements`;await sql`create extension pg_walinspect`;
await ours.prepare(url);
for (const atATime of process.argv[2].split(",").map(Number)) {
const effects = { heard: (_: string) => {} };
const opened = await ours.open(url, {}, (id) => effects.heard(id));
await sql`select pg_stat_statements_reset()`;
const m = await measure(sql, opened, { atATime, windowMs: 3000 }, effects);
console.log(m);
const rows = await sql`select calls, round(total_exec_time::numeric,1) as ms, round(mean_exec_time::numeric,3) as mean, wal_records, left(regexp_replace(query,'\\s+',' ','g'),90) as q from pg_stat_statements where dbid=(select oid from pg_database where datname=current_database()) order by calls desc limit 16`;
for (const r of rows) console.log(r.calls, (r.calls/m.runs).toFixed(2), r.ms, r.mean, r.wal_records, r.q);
await opened.close();
}
await sql.end(); await pg.remove();
