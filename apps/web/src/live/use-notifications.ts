import { useEffect, useRef } from "react";
import type { Task } from "../api.ts";
import { visibleText } from "../parts/visible.ts";

const name = "countersign.notify";

/** Whether this browser tells of new cards while none of its pages is looked at. Off unless somebody turned it on. */
export function isNotifying(): boolean {
  return localStorage.getItem(name) === "on" && "Notification" in window && Notification.permission === "granted";
}

/** Turns it on, as far as the browser lets, which `sample` shows, or off; says which it is then. */
export async function setNotifying(isOn: boolean, sample: string): Promise<boolean> {
  const isAllowed = isOn && "Notification" in window && (await Notification.requestPermission()) === "granted";
  if (isAllowed && notify(sample, name) !== undefined) {
    localStorage.setItem(name, "on");
    return true;
  }
  localStorage.removeItem(name);
  return false;
}

/** Nothing where the browser lets only a service worker do it, as Chrome on Android, whatever it permitted. */
function notify(title: string, tag: string): Notification | undefined {
  try {
    return new Notification(title, { tag });
  } catch {
    return undefined;
  }
}

/**
 * Tells of cards that come while the page is out of sight: the tool's name and nothing more, since anybody may look at a
 * screen. `arrived` only grows. All tabs tell of a card under one tag, so the browser shows it once.
 */
export function useNotifications(arrived: readonly Task[]): void {
  const told = useRef(0);

  useEffect(() => {
    const fresh = arrived.slice(told.current);
    told.current = arrived.length;
    if (document.visibilityState === "visible" || !isNotifying()) return;
    for (const task of fresh) {
      notify(visibleText(task.approval?.tool ?? task.kind), task.id)?.addEventListener("click", () => {
        window.focus();
        location.assign(`/tasks/${task.id}`);
      });
    }
  }, [arrived]);
}
