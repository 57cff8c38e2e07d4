import { type ReactNode, useEffect, useMemo } from "react";
import { Link, Redirect, useLocation } from "wouter";
import { Refused } from "./api.ts";
import { useMe, useOpenTasks, useSignOut } from "./queries.ts";
import { useArrivals } from "./live/use-arrivals.ts";
import { useLive } from "./live/use-live.ts";
import { useNewVersion } from "./live/use-new-version.ts";
import { useNotifications } from "./live/use-notifications.ts";
import { Announce } from "./parts/announce.tsx";
import { Banner } from "./parts/banner.tsx";
import { KeySheet } from "./parts/key-sheet.tsx";
import { Refusal } from "./parts/states.tsx";
import { words } from "./words.ts";
import "./frame.css";

const sections = [
  { path: "/tasks", name: words.nav.tasks },
  { path: "/runs", name: words.nav.runs },
  { path: "/kb", name: words.nav.knowledge },
  { path: "/admin", name: words.nav.admin },
] as const;

/** What stands around every page: where one is, what waits, and whether what is shown is true. */
export function Frame({ children }: { readonly children: ReactNode }) {
  const live = useLive();
  const [path] = useLocation();
  const me = useMe();
  const isNewVersion = useNewVersion();
  const { data, hasNextPage } = useOpenTasks();
  const open = useMemo(() => data?.pages.flatMap((page) => page.tasks), [data]);
  useNotifications(open);
  const arrived = useArrivals(open, { partCount: data?.pages.length ?? 0, isWhole: !hasNextPage });
  const announced = useMemo(() => arrived.map((task) => words.card.announce(task.title)), [arrived]);
  // As many as the list shows: what it has not read yet is said by a sign.
  const count = open?.length ?? 0;
  const shownCount = `${count}${hasNextPage ? "+" : ""}`;
  const signOut = useSignOut();

  useEffect(() => {
    document.title = count === 0 ? words.product : `(${shownCount}) ${words.product}`;
  }, [count, shownCount]);

  // Who was signed in keeps what the page shows, and what was typed into it.
  const isStranger =
    me.data === undefined && me.error instanceof Refused && me.error.problem.code === "unauthenticated";
  if (isStranger) return <Redirect to="/login" replace />;
  return (
    <>
      <a className="skip" href="#page">
        {words.skip}
      </a>
      <header className="top">
        <Link href="/tasks" className="brand">
          {words.product}
        </Link>
        <nav aria-label={words.sections}>
          {sections.map((section) => (
            <Link
              key={section.path}
              href={section.path}
              aria-current={path.startsWith(section.path) ? "page" : undefined}
            >
              {section.name}
              {section.path === "/tasks" && count > 0 && <span className="count">{shownCount}</span>}
            </Link>
          ))}
        </nav>
        {me.data !== undefined && (
          <div className="who">
            <Link href="/admin/account" title={`${words.account}, ${me.data.role}`}>
              {me.data.name}
            </Link>
            <button type="button" className="quiet" onClick={() => signOut.mutate(me.data.tokenId)}>
              {words.signOut}
            </button>
          </div>
        )}
      </header>
      <Announce texts={announced} />
      <Banner live={live} isNewVersion={isNewVersion} />
      <Refusal error={signOut.error} />
      <main id="page" tabIndex={-1}>
        {children}
      </main>
      <KeySheet />
    </>
  );
}
