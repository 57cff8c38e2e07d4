import type { Broker } from "@countersign/broker/handles.ts";
import { HandleRefused } from "@countersign/broker/lease.ts";
import { CapabilityRefused, type CapabilityRequest } from "@countersign/engine/engine.ts";
import type { Handle } from "@countersign/engine/tool.ts";

/**
 * The broker as the engine asks for it: the credential of a capability that a call acquired when it began, or acquires
 * again where its lease is over. Throws `CapabilityRefused`, with a message that holds no secret, where it is not to be
 * had, when it is opened or when it is used.
 */
export function createOpenCapability(broker: Pick<Broker, "open">): (request: CapabilityRequest) => Promise<Handle> {
  return async (request) => {
    const opened = await broker.open(request);
    if (opened.kind === "refused") throw new CapabilityRefused(opened.message);
    const { handle } = opened;
    return {
      async use(body) {
        try {
          return await handle.use(body);
        } catch (error) {
          if (error instanceof HandleRefused) throw new CapabilityRefused(error.message, { cause: error });
          throw error;
        }
      },
    };
  };
}
