import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { connect, type Connection } from "./connect.ts";
import { createRefresher } from "./refresher.ts";

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
 * browser, for as long as its session is `session`. Returns how that connection stands.
 */
export function useLive(session: string | undefined): LiveState {
  const client = useQueryClient();
  const [state, setState] = useState<LiveState>("connecting");
  const connection = useRef<Connection>(undefined);

  useEffect(() => {
    const refresh = createRefresher(client);
    let isHeard = false;
    const connected = connect((data) => {
      if (data.kind === "signed_out") {
        isHeard = true;
        setState("signed_out");
      } else if (data.kind === "state") {
        isHeard = data.isOnline;
        setState((before) => (data.isOnline ? "online" : before === "polling" ? before : "offline"));
      } else refresh(data);
    });
    connection.current = connected;

    const askStatus = (): Promise<number> =>
      fetch("/v1/me").then(
        (response) => response.status,
        () => 0,
      );

    async function askAnyway(): Promise<void> {
      const status = await askStatus();
      if (isHeard) return;
      setState(status === 200 ? "polling" : status === 401 ? "signed_out" : "offline");
      if (status === 200) await client.invalidateQueries();
    }

    /** A machine without a network still reaches a server that runs on it, so the server is asked. */
    async function onOffline(): Promise<void> {
      if ((await askStatus()) > 0) return;
      isHeard = false;
      setState("offline");
    }

    let seenAt = Date.now();
    const look = setInterval(() => {
      const now = Date.now();
      if (now - seenAt > sleptMs) {
        connected.wake();
        void client.invalidateQueries();
      }
      seenAt = now;
      if (!isHeard && document.visibilityState === "visible") void askAnyway();
    }, lookMs);
    const leave = (): void => connected.leave();
    const comeBack = (event: PageTransitionEvent): void => {
      if (event.persisted) location.reload();
    };
    const wentOffline = (): void => void onOffline();
    addEventListener("pagehide", leave);
    addEventListener("pageshow", comeBack);
    addEventListener("offline", wentOffline);
    addEventListener("online", connected.wake);
    return () => {
      clearInterval(look);
      removeEventListener("pagehide", leave);
      removeEventListener("pageshow", comeBack);
      removeEventListener("offline", wentOffline);
      removeEventListener("online", connected.wake);
      connection.current = undefined;
      connected.leave();
    };
  }, [client]);

  useEffect(() => {
    if (session !== undefined) connection.current?.setSession(session);
  }, [session]);
  return state;
}
