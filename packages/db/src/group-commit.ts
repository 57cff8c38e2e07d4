import { isOutcomeUnknown } from "./connection-errors.ts";

/** Stands in a batch's answer for a member whose row somebody else had locked; nothing was done for it. */
export const missed: unique symbol = Symbol("missed");

/**
 * One round trip and one transaction for all of `transitions`; answers one outcome for each, in their order.
 * Not blocking, it skips locked rows and answers `missed` for their members; blocking, it waits for them.
 */
export type Commit<T, R> = (
  transitions: readonly T[],
  how: { blocking: boolean },
) => Promise<readonly (R | typeof missed)[]>;

export type GroupCommitOptions<T, R> = {
  commit: Commit<T, R>;
  /** The same commit on connections of its own: a member that was missed goes through here, alone and blocking. */
  straggle: Commit<T, R>;
  /** The rows (run ids) a transition touches. No two members of a batch share one. */
  keysOf: (transition: T) => readonly string[];
  /** The most transitions in one batch. */
  max?: number;
  /** True while the database has nothing else to do for this process; then a large batch goes as two halves side by side. */
  isIdle?: () => boolean;
};

/** A batch costs about as much as its members; smaller ones let the next step of the first begin while the rest are written. */
const usualMax = 64;

/** Up to so many cost less together than in halves. */
const keptTogether = 16;

type Waiting<T, R> = {
  transition: T;
  keys: readonly string[];
  resolve: (outcome: R) => void;
  reject: (error: unknown) => void;
};

/**
 * Commits transitions of one kind together: what is submitted in one turn of the event loop goes at its end, and what
 * arrives while a call is in flight goes together in the next, without a timer. Transitions that share a key take effect
 * in the order they were submitted, each seeing the one before; others are independent, so a locked row or a bad member
 * harms only its own key.
 *
 * The promise of `submit` settles as if the transition had been committed alone. It rejects with that commit's error;
 * where the connection was lost in mid-call the outcome is unknown and every member's promise rejects.
 */
export function createGroupCommit<T, R>(options: GroupCommitOptions<T, R>): (transition: T) => Promise<R> {
  const { commit, straggle, keysOf, max = usualMax, isIdle = () => false } = options;
  let waiting: Waiting<T, R>[] = [];
  let isScheduled = false;
  let inFlight = 0;
  /** The keys of all members that were sent and are not settled. */
  const busy = new Set<string>();

  function submit(transition: T): Promise<R> {
    const keys = keysOf(transition);
    return new Promise((resolve, reject) => {
      const settling =
        <V>(settle: (value: V) => void) =>
        (value: V): void => {
          for (const key of keys) busy.delete(key);
          settle(value);
        };
      waiting.push({ transition, keys, resolve: settling(resolve), reject: settling(reject) });
      sendSoon();
    });
  }

  /** What the members of another batch go on to ask for comes one by one, within the turn in which that batch ended. */
  function sendSoon(): void {
    if (isScheduled || inFlight > 0) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      sendNext();
    });
  }

  function sendNext(): void {
    const half = Math.ceil(waiting.length / 2);
    if (waiting.length > keptTogether && isIdle()) send(takeBatch(half));
    send(takeBatch(max));
  }

  function send(batch: readonly Waiting<T, R>[]): void {
    if (batch.length === 0) return;
    inFlight += 1;
    for (const { keys } of batch) for (const key of keys) busy.add(key);
    void settle(batch).finally(() => {
      inFlight -= 1;
      sendSoon();
    });
  }

  /** In order of arrival; whoever stays behind keeps its keys from those behind it, so that nobody overtakes. */
  function takeBatch(most: number): Waiting<T, R>[] {
    const taken = new Set(busy);
    const batch: Waiting<T, R>[] = [];
    const staying: Waiting<T, R>[] = [];
    let seen = 0;
    for (const member of waiting) {
      if (batch.length === Math.min(most, max)) break;
      seen += 1;
      const isFree = !member.keys.some((key) => taken.has(key));
      (isFree ? batch : staying).push(member);
      for (const key of member.keys) taken.add(key);
    }
    waiting = staying.concat(waiting.slice(seen));
    return batch;
  }

  async function settle(batch: readonly Waiting<T, R>[]): Promise<void> {
    try {
      const outcomes = await call(commit, batch, false);
      for (const [index, member] of batch.entries()) {
        const outcome = outcomes[index] as R | typeof missed;
        if (outcome === missed) void goAlone(member);
        else member.resolve(outcome);
      }
    } catch (error) {
      if (batch.length === 1 || isOutcomeUnknown(error)) {
        for (const member of batch) member.reject(error);
      } else {
        for (const member of batch) await settle([member]);
      }
    }
  }

  async function goAlone(member: Waiting<T, R>): Promise<void> {
    try {
      const [outcome] = await call(straggle, [member], true);
      if (outcome === missed) throw new Error("A blocking commit answered `missed`; it must wait for the lock");
      member.resolve(outcome as R);
    } catch (error) {
      member.reject(error);
    } finally {
      sendSoon();
    }
  }

  async function call(send: Commit<T, R>, batch: readonly Waiting<T, R>[], blocking: boolean) {
    const transitions = batch.map((member) => member.transition);
    const outcomes = await send(transitions, { blocking });
    if (outcomes.length === batch.length) return outcomes;
    throw new Error(`The commit of ${batch.length} transitions answered ${outcomes.length} outcomes`);
  }

  return submit;
}
