import { once } from "node:events";
import { type AddressInfo, connect as dial, createServer, type Server, type Socket } from "node:net";
import { afterAll, expect, test } from "vitest";
import { awaitDatabase } from "./await-database.ts";
import { checkServer } from "./boot-check.ts";
import { connect } from "./connect.ts";
import { testDatabase } from "./testing/test-database.ts";

const { url } = await testDatabase();
const servers: Server[] = [];
afterAll(() => servers.forEach((server) => server.close()));

async function listen(port: number, onSocket: (socket: Socket) => void): Promise<Server> {
  const server = createServer(onSocket).listen(port, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  return server;
}

/** What a server says that goes through its log after a crash: SQLSTATE 57P03. */
function sayStarting(socket: Socket): void {
  socket.on("error", () => undefined);
  const fields = Buffer.from("SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0");
  const length = Buffer.alloc(4);
  length.writeInt32BE(fields.length + 4);
  socket.once("data", () => socket.end(Buffer.concat([Buffer.from("E"), length, fields])));
}

function passOn(socket: Socket): void {
  const { port, hostname } = new URL(url);
  const real = dial({ port: Number(port), host: hostname });
  for (const [from, to] of [
    [socket, real],
    [real, socket],
  ] as const)
    from.on("error", () => to.destroy()).pipe(to);
}

/** As a program starts: with a pool of its own, which it closes where it fails. */
async function start(address: string): Promise<string> {
  const sql = connect(address, { max: 1 });
  try {
    await checkServer(sql);
    return "up";
  } finally {
    await sql.end({ timeout: 1 });
  }
}

test("a database that is not there yet, and one that is starting, is waited for; what it waits for is said once", async () => {
  const first = await listen(0, (socket) => socket.destroy());
  const { port } = first.address() as AddressInfo;
  first.close();
  await once(first, "close");
  const address = Object.assign(new URL(url), { port: String(port) }).href;
  const told: string[] = [];
  const tries = { refused: 0, starting: 0 };
  const starting = Promise.withResolvers<void>();
  const up = awaitDatabase(
    () =>
      start(address).catch((error: unknown) => {
        const isRefused = String(error).includes("ECONNREFUSED");
        tries[isRefused ? "refused" : "starting"] += 1;
        if (tries.refused === 2 && isRefused) starting.resolve();
        throw error;
      }),
    (problem) => told.push(problem),
  );
  await starting.promise;
  const second = await listen(port, sayStarting);
  while (tries.starting < 2) await new Promise((done) => second.once("connection", done));
  second.close();
  await once(second, "close");
  await listen(port, passOn);
  expect(await up).toBe("up");
  expect(told).toEqual([expect.stringContaining("ECONNREFUSED")]);
});

test("what does not pass of itself is not waited for: a name that nobody knows, a wrong password, any other error", async () => {
  const onWait = (): never => expect.unreachable();
  const elsewhere = Object.assign(new URL(url), { hostname: "nowhere.invalid" }).href;
  await expect(awaitDatabase(() => start(elsewhere), onWait)).rejects.toMatchObject({ code: "unreachable" });
  const stranger = Object.assign(new URL(url), { username: "nobody_here", password: "guess" }).href;
  await expect(awaitDatabase(() => start(stranger), onWait)).rejects.toMatchObject({ code: "access_denied" });
  await expect(awaitDatabase(() => Promise.reject(new Error("other")), onWait)).rejects.toThrow("other");
});
