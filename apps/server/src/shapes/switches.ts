import { z } from "@hono/zod-openapi";
import { actorSchema } from "./common.ts";

const told = {
  since: z.string().openapi({ format: "date-time" }),
  by: actorSchema.openapi({ description: "Who threw it" }),
  reason: z.string(),
};

export const heldBySchema = z
  .object({ scope: z.enum(["app", "workspace", "definition", "run"]), ...told })
  .openapi("HeldBy", { description: "The widest kill switch that holds it: of what, since when, by whom and why" });

export const switchScope = z.enum(["app", "workspace", "definition", "run", "tool", "server"]);

export const killSwitchSchema = z
  .object({
    scope: switchScope.openapi({ description: "`app`: the whole installation" }),
    id: z.string().nullable().openapi({ description: "Of the workspace, the definition or the run" }),
    name: z.string().nullable().openapi({ description: "Null of the installation; of a run its title" }),
    ...told,
  })
  .openapi("KillSwitch");

export const killSwitchListSchema = z
  .object({
    switches: z.array(killSwitchSchema).openapi({ description: "All that are on, newest first" }),
    scopes: z.array(switchScope).openapi({ description: "What the asker may hold, and let go on" }),
  })
  .openapi("KillSwitchList");

export type HeldBy = z.infer<typeof heldBySchema>;
export type KillSwitch = z.infer<typeof killSwitchSchema>;
