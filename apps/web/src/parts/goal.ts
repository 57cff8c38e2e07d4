const name = "countersign.goal";

/** For how long a page waits for its reader to sign in: as long as a login link may be used. */
const keptMs = 15 * 60_000;

/**
 * Remembers the address that is shown, for after the sign-in: in the browser and not in the address of the sign-in page,
 * since the link that signs in is opened by itself, and anybody can write an address.
 */
export function keepGoal(): void {
  const { pathname, search, hash } = location;
  localStorage.setItem(name, JSON.stringify({ path: `${pathname}${search}${hash}`, at: Date.now() }));
}

/** Where whoever signed in was going, once; else the queue. */
export function takeGoal(): string {
  const kept = localStorage.getItem(name);
  localStorage.removeItem(name);
  try {
    const { path, at } = JSON.parse(kept ?? "{}") as { path?: string; at?: number };
    const isOurs = path !== undefined && new URL(path, location.origin).origin === location.origin;
    if (isOurs && !path.startsWith("/login") && path !== "/" && Date.now() - (at ?? 0) < keptMs) return path;
  } catch {
    // Whatever else stands there was not kept by these pages.
  }
  return "/tasks";
}

/** Whoever signed out was going nowhere. */
export function dropGoal(): void {
  localStorage.removeItem(name);
}
