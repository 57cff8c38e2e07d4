import { holdsSecrets } from "@countersign/broker/become-clean.ts";
import { type Cli, tellError } from "../verb.ts";
import { createAnnouncer } from "./announce.ts";
import { makeDataDir } from "./data-dir.ts";
import { lockFolder } from "./lock.ts";
import { seedAndBecomeClean } from "./seed-environment.ts";
import { startAll, type Stoppable } from "./start-all.ts";

/** How long each part may take to stop in good order. */
const graceMs = 20_000;

/** Signals closer together than this are one press of Ctrl-C. */
const samePressMs = 500;

/**
 * Runs everything until Ctrl-C, SIGTERM, SIGHUP or nobody reads what it says, then stops it in order: worker, server, mail, PostgreSQL. A second
 * Ctrl-C ends the programs by force; PostgreSQL still stops in good order. Throws CliError where something does not start.
 */
export async function dev(cli: Cli): Promise<void> {
  const { dataDir } = cli.config;
  // Others may look into it: where root cannot make a user namespace, PostgreSQL runs as a user who has to.
  makeDataDir(dataDir);
  const lock = await lockFolder(dataDir);
  const announcer = createAnnouncer(cli);
  const closing = new AbortController();
  const parts: Stoppable[] = [];
  let signals = 0;
  let signaledAt = -Infinity;

  function onSignal(): void {
    // npm passes on the Ctrl-C that the terminal has given to all of us already.
    if (performance.now() - signaledAt < samePressMs) return;
    signaledAt = performance.now();
    signals += 1;
    if (signals === 1) return closing.abort(new Stopped());
    if (signals === 2) announcer.trouble("Ending the programs by force; PostgreSQL stops in good order.");
    for (const part of parts) part.kill?.();
  }
  const names = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const name of names) process.on(name, onSignal);
  // As where its terminal is closed.
  cli.terminal.gone.addEventListener("abort", onSignal);

  let failure: unknown;
  try {
    const options = {
      signal: closing.signal,
      onStarted: (part: Stoppable) => void parts.push(part),
      onGivenUp: (error: Error) => closing.abort(error),
    };
    if (holdsSecrets(cli.config.environment)) await seedAndBecomeClean(cli.config, announcer, options);
    await startAll(cli, announcer, options);
    await aborted(closing.signal);
    failure = closing.signal.reason;
  } catch (error) {
    failure = error;
  }
  announcer.close();
  const isAsked = failure instanceof Stopped;
  if (isAsked && !cli.isJson) cli.print(["", "Stopping."]);
  for (const part of parts.toReversed()) {
    const since = performance.now();
    try {
      await part.stop(graceMs);
      announcer.step(`${part.name} stopped`, since);
    } catch (error) {
      tellError(cli, error);
    }
  }
  for (const name of names) process.off(name, onSignal);
  lock.release();
  if (!isAsked) throw failure;
}

/** Somebody asked for the end. */
class Stopped extends Error {}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  // A signal alone does not keep a process alive.
  const keepAlive = setInterval(() => undefined, 60_000);
  await new Promise((done) => signal.addEventListener("abort", done, { once: true }));
  clearInterval(keepAlive);
}
