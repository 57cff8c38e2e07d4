import type { Decorator } from "@countersign/engine/decorate-tool.ts";
import { defineTool } from "@countersign/engine/tool.ts";
import { z } from "zod";

const prices: Readonly<Record<string, number>> = { drill: 12, saw: 9, sander: 15 };

/** Only reads, so it runs unasked and may be run again after a crash. */
const priceOf = defineTool({
  name: "rental.priceOf",
  description: "The price of renting a machine for one day, in euros.",
  schema: z.strictObject({ machine: z.string().min(1).describe("Such as drill or saw") }),
  tier: "read",
  needsApproval: false,
  effect: "read-only",
  async execute({ machine }) {
    const price = prices[machine];
    if (price === undefined)
      return { kind: "failed", content: `there is no ${machine}; there are: ${Object.keys(prices).join(", ")}` };
    return { kind: "done", content: `${machine}: ${price} € a day` };
  },
});

/**
 * Reaches outside and can happen only once, so a person is asked, and after a crash in the middle a person says what
 * became of it. It acquires the credential of its own capability, whose secret an administrator stores.
 */
const book = defineTool({
  name: "rental.book",
  description: "Books a machine for one day. A person approves each booking.",
  schema: z.strictObject({ machine: z.string().min(1), day: z.iso.date() }),
  requires: ["rental.write"],
  tier: "exec",
  needsApproval: true,
  effect: "once",
  units: ({ machine }) => [machine],
  details: ({ machine, day }) => [`Book: ${machine}`, `Day: ${day}`],
  async execute({ machine, day }, context) {
    const handle = await context.acquire("rental.write");
    return await handle.use(async (secret) => {
      // Here the shop's own API would be called with the secret and with context.signal.
      if (secret.length === 0) return { kind: "failed", content: "the shop does not know us" };
      return { kind: "done", content: `${machine} is booked for ${day}, number ${context.idempotencyKey.slice(0, 8)}` };
    });
  },
});

/** Stands around every tool of the process: here it refuses bookings for machines that are being repaired. */
const refuseBroken: Decorator =
  (next, { name }) =>
  async (args, context) => {
    const { machine } = args as { machine?: unknown };
    if (name === "rental.book" && machine === "sander")
      return { kind: "failed", content: "the sander is being repaired; nothing was booked" };
    return await next(args, context);
  };

export const tools = [priceOf, book] as const;
export const decorators = [refuseBroken];
/** Capabilities that these tools bring with them. */
export const capabilities = ["rental.write"];
