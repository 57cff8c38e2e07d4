import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { createRefresher } from "./refresher.ts";
import type { StreamMessage } from "./stream-worker.ts";

/**
 * How the page hears of what changes: `connecting` at first, then `online`. `polling`: nothing comes through, such as
 * behind a proxy that holds answers back, but the server answers, so the page asks every few seconds. `offline`: nor that.
 */
export type LiveState = "connecting" | "online" | "polling" | "offline" | "signed_out";

/** How long a page may have slept before its connection is not trusted any more. */
const sleptMs = 30_000;

/** How often a page looks whether it slept, and asks where nothing is told. */
const lookMs = 5_000;

/**
 * Keeps what the page shows true: whatever changes in the workspace is read again. One connection serves all tabs of the
 * browser. Returns how that connection stands.
 */
export function useLive(): LiveState {
  const client = useQueryClient();
  const [state, setState] = useState<LiveState>("connecting");

  useEffect(() => {
    const refresh = createRefresher(client);
    const worker = new SharedWorker(new URL("./stream-worker.ts", import.meta.url), {
      type: "module",
      name: "countersign",
    });
    const { port } = worker;
    let isHeard = false;
    port.addEventListener("message", ({ data }: MessageEvent<StreamMessage>) => {
      if (data.kind === "signed_out") {
        isHeard = true;
        setState("signed_out");
      } else if (data.kind === "state") {
        isHeard = data.isOnline;
        setState((before) => (data.isOnline ? "online" : before === "polling" ? before : "offline"));
      } else refresh(data);
    });
    port.start();

    async function askAnyway(): Promise<void> {
      const status = await fetch("/v1/me").then(
        (response) => response.status,
        () => 0,
      );
      if (isHeard) return;
      setState(status === 200 ? "polling" : status === 401 ? "signed_out" : "offline");
      if (status === 200) await client.invalidateQueries();
    }

    let seenAt = Date.now();
    const look = setInterval(() => {
      const now = Date.now();
      if (now - seenAt > sleptMs) {
        port.postMessage("wake");
        void client.invalidateQueries();
      }
      seenAt = now;
      if (!isHeard && document.visibilityState === "visible") void askAnyway();
    }, lookMs);
    const leave = (): void => port.postMessage("bye");
    const comeBack = (event: PageTransitionEvent): void => {
      if (event.persisted) location.reload();
    };
    addEventListener("pagehide", leave);
    addEventListener("pageshow", comeBack);
    return () => {
      clearInterval(look);
      removeEventListener("pagehide", leave);
      removeEventListener("pageshow", comeBack);
      leave();
      port.close();
    };
  }, [client]);
  return state;
}
