import { CommanderError } from "commander";
import { exitCodes } from "./exit.ts";
import { createProgram } from "./program.ts";

try {
  await createProgram().parseAsync(process.argv);
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  // It has said what is wrong, or shown what was asked for.
  process.exitCode = error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
}
