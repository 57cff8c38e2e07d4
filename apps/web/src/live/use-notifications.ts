import { useEffect, useRef } from "react";
import type { Task } from "../api.ts";
import { visibleText } from "../parts/visible.ts";

const name = "countersign.notify";

/** Whether this browser tells of new cards while none of its pages is looked at. Off unless somebody turned it on. */
export function isNotifying(): boolean {
  return localStorage.getItem(name) === "on" && "Notification" in window && Notification.permission === "granted";
}

/** Turns it on, as far as the browser lets, or off; says which it is then. */
export async function setNotifying(isOn: boolean): Promise<boolean> {
  if (isOn && "Notification" in window && (await Notification.requestPermission()) === "granted") {
    localStorage.setItem(name, "on");
    return true;
  }
  localStorage.removeItem(name);
  return false;
}

/**
 * Tells of cards that come while the page is out of sight: the tool's name and nothing more, since anybody may look at a
 * screen. All tabs tell of a card under one tag, so the browser shows it once.
 */
export function useNotifications(open: readonly Task[] | undefined): void {
  const known = useRef<ReadonlySet<string>>(undefined);

  useEffect(() => {
    if (open === undefined) return;
    const before = known.current;
    known.current = new Set(open.map((task) => task.id));
    if (before === undefined || document.visibilityState === "visible" || !isNotifying()) return;
    for (const task of open) {
      if (before.has(task.id)) continue;
      const told = new Notification(visibleText(task.approval?.tool ?? task.kind), { tag: task.id });
      told.addEventListener("click", () => {
        window.focus();
        location.assign(`/tasks/${task.id}`);
      });
    }
  }, [open]);
}
