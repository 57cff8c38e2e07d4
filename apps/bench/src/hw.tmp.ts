import { connect } from "@countersign/db/connect.ts";
import { startOwnPostgres } from "./own-postgres.ts";
import { prepareOurs } from "./ours.ts";
import { runHandWritten, countRowsPerRun } from "./hand-written.ts";
const pg = await startOwnPostgres();
const url = await pg.createDatabase("hw");
const sql = connect(url, {max:1});
await prepareOurs(url);
console.log(await runHandWritten(url, 64, 3000, process.env));
console.log(await countRowsPerRun(url));

console.log(await runHandWritten(url, 64, 3000, {...process.env,PATH:"/nowhere"}));
console.log(await countRowsPerRun(url));
await sql.end(); process.env.PATH="/usr/bin:/bin"; await pg.remove();
