import { createStream, type StreamMessage } from "./stream.ts";
import type { TabMessage } from "./stream-worker.ts";

/** A tab's side of the stream. */
export interface Connection {
  /** Connects anew: what stands may only look alive. */
  readonly wake: () => void;
  /** Says which session the browser has; where it is another than before, the stream is made anew. */
  readonly setSession: (session: string) => void;
  readonly leave: () => void;
}

/** Connects the tab to the stream that all tabs share, or, in a browser that shares nothing, to one of its own. */
export function connect(hear: (message: StreamMessage) => void): Connection {
  if (!("SharedWorker" in window)) return connectAlone(hear);
  try {
    return connectShared(hear);
  } catch {
    return connectAlone(hear);
  }
}

function connectShared(hear: (message: StreamMessage) => void): Connection {
  const worker = new SharedWorker(new URL("./stream-worker.ts", import.meta.url), {
    type: "module",
    name: "countersign",
  });
  const { port } = worker;
  const say = (message: TabMessage): void => port.postMessage(message);
  port.addEventListener("message", ({ data }: MessageEvent<StreamMessage>) => hear(data));
  port.start();
  return {
    wake: () => say("wake"),
    setSession: (session) => say({ session }),
    leave() {
      say("bye");
      port.close();
    },
  };
}

/** A browser has six connections to a server on HTTP/1.1, so only a tab that is looked at keeps one for its stream. */
function connectAlone(hear: (message: StreamMessage) => void): Connection {
  const stream = createStream(hear);
  let known: string | undefined;
  const open = (): void => (document.visibilityState === "visible" ? stream.open() : stream.close());
  const onVisible = (): void => {
    if (document.visibilityState !== "visible" || !stream.isOpen()) open();
  };
  document.addEventListener("visibilitychange", onVisible);
  onVisible();
  return {
    wake: open,
    setSession(session) {
      const isOther = known !== undefined && known !== session;
      known = session;
      if (isOther) open();
    },
    leave() {
      document.removeEventListener("visibilitychange", onVisible);
      stream.close();
    },
  };
}
