import { isLoopbackHost } from "@countersign/broker/destinations.ts";
import { z } from "zod";
import { isCapability } from "./loaded-tools.ts";

const capability = z.string().refine(isCapability, "expected a name such as crm.call");

const url = z.url({ protocol: /^https?$/ }).refine((text) => {
  const { protocol, hostname, username, password } = new URL(text);
  return (protocol === "https:" || isLoopbackHost(hostname)) && username === "" && password === "";
}, "expected https, or http to this machine, without a login");

const declaration = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/, "expected 1 to 64 letters, digits, _, . and -"),
  description: z.string().min(1).max(4_000),
  url,
  /** JSON Schema of the arguments. */
  schema: z.looseObject({ type: z.literal("object") }),
  /** The capability whose secret signs the calls. */
  signedBy: capability,
  effect: z.enum(["read-only", "idempotent", "once"]).default("once"),
  needsApproval: z.boolean().optional(),
  alwaysGate: z.boolean().optional(),
  tier: z.enum(["read", "write", "exec"]).optional(),
  risk: z.enum(["read-only", "low", "high"]).optional(),
  timeoutMs: z.int().min(100).max(600_000).default(30_000),
});

/** What a file that declares HTTP tools holds. */
export const httpToolFile = z.strictObject({ tools: z.array(declaration).min(1) });

/** An HTTP tool as a file declares it. */
export type HttpToolDeclaration = z.infer<typeof declaration>;
