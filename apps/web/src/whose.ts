/*
 * Whose page this is. All tabs of a browser have one session, and whoever signs in in one of them takes it over in all: a
 * page that was drawn for somebody else must neither show nor decide anything as the new one.
 */

interface Session {
  readonly userId: string;
  readonly tokenId: string;
}

let mine: Session | undefined;

const port = "BroadcastChannel" in globalThis ? new BroadcastChannel("countersign.session") : undefined;

/** The headers that say whose page a request is from; none until that is known. */
export function whoseHeaders(): Record<string, string> {
  return mine === undefined ? {} : { "signed-in-as": mine.userId };
}

/** The page is this session's from now on, and all other tabs are told. One that was drawn for another account is loaded anew. */
export function belongTo(session: Session): void {
  if (mine !== undefined && mine.userId !== session.userId) return loadAnew();
  const isNew = mine?.tokenId !== session.tokenId;
  mine = session;
  if (isNew) port?.postMessage(session);
}

/** The page is drawn anew, for whoever is signed in now. */
export function loadAnew(): void {
  location.reload();
}

/** Calls `onOther` where another tab says that its user, who is this page's too, has a new session. Returns how to stop. */
export function listenToSessions(onOther: () => void): () => void {
  const hear = ({ data }: MessageEvent<Session>): void => {
    if (mine === undefined || mine.tokenId === data.tokenId) return;
    if (mine.userId === data.userId) onOther();
    else loadAnew();
  };
  port?.addEventListener("message", hear);
  return () => port?.removeEventListener("message", hear);
}
