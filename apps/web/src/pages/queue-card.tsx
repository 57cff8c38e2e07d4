import { memo } from "react";
import type { Task } from "../api.ts";
import { Card } from "../card/card.tsx";
import { useTask } from "../queries.ts";

interface Props {
  readonly task: Task;
  /** It left the queue: it stands as its own row says from then on, in the same place and with the focus where it was. */
  readonly isGone: boolean;
  readonly isNew: boolean;
}

/** A card of the queue, for as long as it is shown there. Of hundreds only those are drawn again whose row changed. */
export const QueueCard = memo(function QueueCard({ task, isGone, isNew }: Props) {
  const { data } = useTask(task.id, isGone);
  if (!isGone) return <Card task={task} place="queue" isNew={isNew} />;
  return <Card task={data ?? task} place="queue" isUnsure={data === undefined || data.status === "open"} />;
});
