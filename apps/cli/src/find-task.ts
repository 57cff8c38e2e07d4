import { ask, type Client, type Task } from "./client.ts";
import { findTaskId } from "./find-id.ts";

/** The task that `given` names, as it stands now. */
export async function findTask(client: Client, given: string): Promise<Task> {
  const id = await findTaskId(client, given);
  return await ask(client.v1.tasks[":id"].$get({ param: { id } }));
}
