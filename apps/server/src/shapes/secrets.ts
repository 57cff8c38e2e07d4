import { z } from "@hono/zod-openapi";
import { moment } from "./common.ts";

const nameOfThing = /^[A-Za-z0-9][\w.-]{0,99}$/;

export const secretName = z.object({
  name: z.string().regex(nameOfThing, "expected 1 to 100 letters, digits, dots, dashes and underscores"),
});

export const capabilityName = z
  .string()
  .regex(/^[a-z][\w.-]{0,99}$/, "expected the name of a capability, such as mail.send");

export const secretSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    capability: z.string(),
    version: z.int(),
    createdAt: moment,
    setAt: moment.openapi({ description: "When the current version was set" }),
  })
  .openapi("Secret");

export const secretListSchema = z
  .object({ secrets: z.array(secretSchema), nextCursor: z.string().nullable() })
  .openapi("SecretList");

export const secretBody = z
  .strictObject({
    capability: capabilityName.openapi({ description: "What the secret gives reach to; one secret serves each" }),
    value: z.string().min(1).max(100_000).openapi({
      description: "Sealed on arrival: only the worker opens it, and no route ever answers with it",
      writeOnly: true,
    }),
  })
  .openapi("SecretValue");

export type Secret = z.infer<typeof secretSchema>;
