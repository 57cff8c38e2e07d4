import { cleanEnvironment, type Environment } from "./environment.ts";

/** Whether any variable is set that holds, or belongs to, a secret. */
export function holdsSecrets(environment: Environment): boolean {
  return Object.keys(cleanEnvironment(environment)).length < Object.keys(environment).length;
}

/**
 * Replaces this process by a fresh start of itself: the same program, arguments, number and standard streams, in an
 * environment without the variables that hold secrets. What a process was started with stays readable in `/proc` for as
 * long as it lives, and a parent's as well, so neither deleting variables nor starting a child would do. Nothing of this
 * process goes on: close and flush before. Throws where the system cannot replace a process.
 */
export function becomeClean(environment: Environment): never {
  const clean = Object.entries(cleanEnvironment(environment)).filter(([, value]) => value !== undefined);
  if (process.execve === undefined)
    throw new Error(
      "This system cannot take secrets out of the environment of a process. Start it without them, and set them with: ./countersign secrets set",
    );
  return process.execve(
    process.execPath,
    [process.execPath, ...process.execArgv, ...process.argv.slice(1)],
    Object.fromEntries(clean) as Record<string, string>,
  );
}
