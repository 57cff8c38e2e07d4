import type { Handle } from "@countersign/broker/handles.ts";
import { HandleRefused } from "@countersign/broker/lease.ts";
import { CapabilityRefused } from "@countersign/engine/engine.ts";
import { expect, test } from "vitest";
import { createOpenCapability } from "./open-capability.ts";

const renew = async () => "renewed" as const;
const request = { workspaceId: "w", runId: "r", callId: "c", capability: "mail.send", renew };
const gone = { kind: "refused", code: "grant_revoked", message: "The grant was taken back" } as const;

function handleOf(use: Handle["use"]): Handle {
  return { capability: "mail.send", version: 1, cacheKey: "k", use, toString: () => "", toJSON: () => "" };
}

test("a handle lends the secret of what the call acquired", async () => {
  const asked: unknown[] = [];
  const open = createOpenCapability({
    open: async (given) => {
      asked.push(given);
      return { kind: "opened", handle: handleOf((body) => body("s")) };
    },
  });
  const handle = await open(request);
  expect(await handle.use(async (secret) => secret)).toBe("s");
  expect(asked).toEqual([request]);
});

test("a refusal is told to the model in its own words, when opened and when used", async () => {
  const refusing = createOpenCapability({ open: async () => gone });
  await expect(refusing(request)).rejects.toThrow(new CapabilityRefused(gone.message));
  const later = createOpenCapability({
    open: async () => ({ kind: "opened", handle: handleOf(() => Promise.reject(new HandleRefused(gone))) }),
  });
  const handle = await later(request);
  await expect(handle.use(async () => 1)).rejects.toThrow(CapabilityRefused);
});

test("an error of the tool itself stays what it is", async () => {
  const open = createOpenCapability({ open: async () => ({ kind: "opened", handle: handleOf((body) => body("s")) }) });
  const handle = await open(request);
  await expect(handle.use(() => Promise.reject(new TypeError("x")))).rejects.toThrow(TypeError);
});
