import type { Task } from "../api.ts";
import { Card } from "../card/card.tsx";
import { useTask } from "../queries.ts";

/** A card that left the queue, as its own row says it stands now. */
export function Settled({ last }: { readonly last: Task }) {
  const { data } = useTask(last.id);
  return <Card task={data ?? last} place="queue" isUnsure={data === undefined || data.status === "open"} />;
}
