import { createHash, randomUUID } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { changedPreconditions } from "@countersign/engine/propose-call.ts";
import { defineTool, type Precondition, type Proposed, type Tool, type ToolResult } from "@countersign/engine/tool.ts";
import { z } from "zod";
import { lineDiff } from "./line-diff.ts";

export interface EditFileOptions {
  /** The folder that paths are relative to. */
  readonly root: string;
  /** Paths within it that say what agents may do; to change one asks under every policy. */
  readonly configuration?: readonly string[];
}

const schema = z.strictObject({ path: z.string().min(1), oldText: z.string().min(1), newText: z.string() });
type Edit = z.infer<typeof schema>;

/**
 * A tool that replaces a text in a file, as an example of two phases: it shows the change as a diff, binds it to what the
 * file holds, and looks once more at the moment it writes. Between that look and the rename lies what window there is.
 */
export function editFile({ root, configuration = [] }: EditFileOptions): Tool {
  const at = (path: string): string => join(root, path);

  return defineTool<Edit>({
    name: "edit_file",
    description: "Replaces a text that stands in a file exactly once by another.",
    schema,
    family: "file",
    tier: "write",
    needsApproval: true,
    effect: "once",
    units: ({ path }) => [path],
    details: ({ path }) => [`File: ${path}`],
    safety({ path }) {
      const inside = relative(root, at(path));
      if (inside.startsWith("..")) return "outside_root";
      return configuration.includes(inside) ? "configuration" : undefined;
    },
    async propose(edit): Promise<Proposed> {
      const read = await readText(at(edit.path));
      if (read === undefined) return { kind: "failed", content: `there is no file ${edit.path}` };
      const changed = apply(read, edit);
      if (typeof changed !== "string") return { kind: "failed", content: `${edit.path} ${changed.problem}` };
      return {
        kind: "proposed",
        message: `Changes ${edit.path}`,
        preview: lineDiff(edit.path, read, changed),
        preconditions: [fileOf(edit.path, read)],
      };
    },
    async execute(edit, { preconditions }): Promise<ToolResult> {
      const read = (await readText(at(edit.path))) ?? "";
      const [name] = changedPreconditions(preconditions, [fileOf(edit.path, read)]);
      if (name !== undefined) return { kind: "changed", content: name };
      const changed = apply(read, edit);
      if (typeof changed !== "string") return { kind: "failed", content: `${edit.path} ${changed.problem}` };
      const beside = `${at(edit.path)}.${randomUUID()}`;
      await writeFile(beside, changed);
      await rename(beside, at(edit.path));
      return { kind: "done", content: `changed ${edit.path}` };
    },
  });
}

function fileOf(path: string, text: string): Precondition {
  return { kind: "file", name: path, hash: createHash("sha256").update(text).digest("hex") };
}

function apply(text: string, { oldText, newText }: Edit): string | { readonly problem: string } {
  const parts = text.split(oldText);
  if (parts.length !== 2) return { problem: `holds that text ${parts.length - 1} times, not once` };
  return parts.join(newText);
}

async function readText(path: string): Promise<string | undefined> {
  return await readFile(path, "utf8").catch(() => undefined);
}
