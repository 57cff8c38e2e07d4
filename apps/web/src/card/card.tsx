import { type KeyboardEvent, useCallback, useRef } from "react";
import { Link } from "wouter";
import type { Task } from "../api.ts";
import { ExactLine } from "../parts/exact-text.tsx";
import { ReachContext, useReach } from "../parts/reach.ts";
import { Time } from "../parts/time.tsx";
import { words } from "../words.ts";
import { Afterwards } from "./afterwards.tsx";
import { CallBody } from "./call-body.tsx";
import { Decide } from "./decide.tsx";
import { Facts } from "./facts.tsx";
import { digitOf, isForCard } from "./keys.ts";
import { QuestionBody } from "./question-body.tsx";
import { readCard } from "./read-card.ts";
import { settlementOf } from "./settlement.ts";
import { TaskActions } from "./task-actions.tsx";
import { useArmed } from "./use-armed.ts";
import { areKeysOn } from "./keys-switch.ts";
import "./card.css";

/** Where a card is shown: in the queue it is confirmed or dismissed, on the run it is allowed in one of several ways. */
export type Place = "queue" | "run";

/** What a card's keys do; Escape does the one that says no. */
export interface CardActions {
  readonly onDigit: Readonly<Record<number, () => void>>;
  readonly refuse: (() => void) | undefined;
}

interface Props {
  readonly task: Task;
  readonly place: Place;
  readonly isNew?: boolean;
  /** It is being read how it stands, so there is nothing to press. */
  readonly isUnsure?: boolean;
}

/**
 * A task as a person decides on it: always open, drawn from the server's row alone, and the same wherever it is shown. Once
 * it is settled it says how, and nothing on it can be pressed. Another task in the same place is another card: what was
 * typed, chosen and waited for on one is never on the next.
 */
export function Card(props: Props) {
  return <CardOf key={props.task.id} {...props} />;
}

function CardOf({ task, place, isNew = false, isUnsure = false }: Props) {
  const element = useRef<HTMLElement>(null);
  const isArmed = useArmed(element);
  const actions = useRef<CardActions>({ onDigit: {}, refuse: undefined });
  const setActions = useCallback((next: CardActions) => {
    actions.current = next;
  }, []);
  const reach = useReach();
  const settlement = settlementOf(task);
  const body = readCard(task.approval?.card);
  const headingId = `card-${task.id}`;
  const isClosed = task.isClosed === true;

  /** Does something only where the card has stood still for a moment. */
  const arm = (act: () => void) => (): void => {
    if (isArmed()) act();
  };

  const onKeyDown = (event: KeyboardEvent<HTMLElement>): void => {
    if (!areKeysOn() || !isForCard(event.nativeEvent, event.currentTarget)) return;
    const { onDigit, refuse } = actions.current;
    const act = event.key === "Escape" ? refuse : onDigit[digitOf(event.key)];
    if (act === undefined) return;
    event.preventDefault();
    arm(act)();
  };

  // As an article of a feed is: its keys decide while it, and nothing inside it, has the focus.
  const keyboardStop = { tabIndex: 0, onKeyDown };

  return (
    <article
      ref={element}
      className={`card ${task.kind} ${settlement === undefined ? "waits" : "settled"}`}
      aria-labelledby={headingId}
      data-task={task.id}
      data-new={isNew || undefined}
      {...keyboardStop}
    >
      <header className="card-head">
        <h2 id={headingId}>
          <ExactLine text={task.approval?.tool ?? task.title} />
        </h2>
        <span className="card-kind">{words.card.kinds[task.kind]}</span>
        <Link className="card-link" href={`/tasks/${task.id}`}>
          <span className="unseen">{words.card.link}, </span>
          <Time at={task.createdAt} />
        </Link>
      </header>

      <ReachContext value={reach.tell}>
        {isClosed ? (
          <p className="card-closed">{words.card.closed}</p>
        ) : (
          <>
            {task.approval !== null && <CallBody approval={task.approval} body={body} />}
            {task.question !== null && <QuestionBody question={task.question} heading={task.title} />}
          </>
        )}
      </ReachContext>
      <Facts task={task} body={body} />

      {settlement === undefined && isClosed ? null : settlement === undefined && isUnsure ? (
        <p className="card-end">{words.loading}</p>
      ) : settlement === undefined ? (
        <footer className="card-foot">
          {task.approval !== null ? (
            <Decide
              approval={task.approval}
              body={body}
              place={place}
              isWithinReach={reach.isWhole}
              arm={arm}
              onActions={setActions}
            />
          ) : (
            <TaskActions task={task} arm={arm} onActions={setActions} />
          )}
        </footer>
      ) : (
        <>
          <p className={`card-end ${task.approval?.status ?? task.status}`} role="status">
            <ExactLine text={settlement.text} /> <Time at={settlement.at} />
          </p>
          {task.approval !== null && !isClosed && <Afterwards approval={task.approval} />}
        </>
      )}
    </article>
  );
}
