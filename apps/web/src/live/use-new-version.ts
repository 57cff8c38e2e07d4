import { useEffect, useState } from "react";

/** How often a page that stays open looks. */
const everyMs = 10 * 60_000;

/** The script a page of the server begins with; its name holds a hash of all that it does. */
function scriptOf(html: Document): string | undefined {
  return html.querySelector<HTMLScriptElement>('script[type="module"][src]')?.getAttribute("src") ?? undefined;
}

/** True once the server serves other pages than this one, which then may not understand it any more. */
export function useNewVersion(): boolean {
  const [isNew, setNew] = useState(false);

  useEffect(() => {
    const mine = scriptOf(document);
    let isLooking = false;
    async function look(): Promise<void> {
      if (isLooking || document.visibilityState !== "visible") return;
      isLooking = true;
      try {
        const response = await fetch("/login", { cache: "no-store" });
        const theirs = scriptOf(new DOMParser().parseFromString(await response.text(), "text/html"));
        if (response.ok && theirs !== undefined && theirs !== mine) setNew(true);
      } catch {
        // No answer says nothing of versions; the banner of the connection says the rest.
      } finally {
        isLooking = false;
      }
    }
    const timer = setInterval(() => void look(), everyMs);
    const onVisible = (): void => void look();
    document.addEventListener("visibilitychange", onVisible);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", onVisible);
    };
  }, []);
  return isNew;
}
