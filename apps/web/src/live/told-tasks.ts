import { useSyncExternalStore } from "react";
import type { Task } from "../api.ts";

/*
 * The open tasks that the page was told of one by one. Of a list that is read in parts, what comes lies beyond them.
 */

/** More than anybody is told of at once. */
const most = 100;

let told: readonly Task[] = [];

const listeners = new Set<() => void>();

/** Takes in tasks as the server has them now. */
export function takeTold(tasks: readonly Task[]): void {
  const ids = new Set(tasks.map(({ id }) => id));
  const others = told.filter(({ id }) => !ids.has(id));
  told = [...others, ...tasks.filter(({ status }) => status === "open")].slice(-most);
  for (const tell of listeners) tell();
}

/** Those that are open, as far as the page was told. */
export function useTold(): readonly Task[] {
  return useSyncExternalStore(watch, () => told);
}

function watch(onTold: () => void): () => void {
  listeners.add(onTold);
  return () => void listeners.delete(onTold);
}
