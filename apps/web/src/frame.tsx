import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { Link, Redirect, useLocation } from "wouter";
import { isSignedOut, useMe, useSignOut, useTasks } from "./queries.ts";
import { useTold } from "./live/told-tasks.ts";
import { useArrivals } from "./live/use-arrivals.ts";
import { useLive } from "./live/use-live.ts";
import { useNewVersion } from "./live/use-new-version.ts";
import { useNotifications } from "./live/use-notifications.ts";
import { Announce } from "./parts/announce.tsx";
import { Banner } from "./parts/banner.tsx";
import { Boundary } from "./parts/boundary.tsx";
import { ExactLine } from "./parts/exact-text.tsx";
import { keepGoal } from "./parts/goal.ts";
import { KeySheet } from "./parts/key-sheet.tsx";
import { Refusal } from "./parts/states.tsx";
import { listenToSessions } from "./whose.ts";
import { words } from "./words.ts";
import "./frame.css";

const sections = [
  { path: "/tasks", name: words.nav.tasks },
  { path: "/runs", name: words.nav.runs },
  { path: "/kb", name: words.nav.knowledge },
  { path: "/admin", name: words.nav.admin },
] as const;

function ToSignIn() {
  // Once, and before the address is another.
  useState(keepGoal);
  return <Redirect to="/login" replace />;
}

/** What stands around every page: where one is, what waits, and whether what is shown is true. */
export function Frame({ children }: { readonly children: ReactNode }) {
  const me = useMe();
  const live = useLive(me.data?.tokenId);
  const [path] = useLocation();
  const client = useQueryClient();
  const isNewVersion = useNewVersion();
  const {
    query: { data, hasNextPage },
    found: open,
  } = useTasks("open");
  const told = useTold();
  const arrived = useArrivals(open, told, { partCount: data?.pages.length ?? 0, isWhole: !hasNextPage });
  useNotifications(arrived);
  const announced = useMemo(() => arrived.map((task) => words.card.announce(task.title)), [arrived]);
  // As many as the list shows: what it has not read yet is said by a sign.
  const count = open?.length ?? 0;
  const shownCount = `${count === 0 ? "" : count}${hasNextPage ? "+" : ""}`;
  const signOut = useSignOut();

  useEffect(() => {
    const section = sections.find((one) => path.startsWith(one.path))?.name;
    const name = section === undefined ? words.product : `${section} · ${words.product}`;
    document.title = shownCount === "" ? name : `(${shownCount}) ${name}`;
  }, [shownCount, path]);

  useEffect(() => listenToSessions(() => void client.invalidateQueries()), [client]);

  const isOut = isSignedOut(me.error);
  const isStranger = me.data === undefined && isOut;
  // Who was signed in keeps what the page shows, and what was typed into it.
  if (isStranger) return <ToSignIn />;
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
              {section.path === "/tasks" && shownCount !== "" && <span className="count">{shownCount}</span>}
            </Link>
          ))}
        </nav>
        {me.data !== undefined && (
          <div className="who">
            <Link href="/admin/account" title={`${words.account}, ${me.data.role}`}>
              <ExactLine text={me.data.name} />
            </Link>
            <button type="button" className="quiet" onClick={() => signOut.mutate(me.data.tokenId)}>
              {words.signOut}
            </button>
            <Refusal error={signOut.error} />
          </div>
        )}
      </header>
      <Announce texts={announced} />
      <Banner live={isOut ? "signed_out" : live} isNewVersion={isNewVersion} />
      <main id="page" tabIndex={-1}>
        {/* What it failed on may be what was read. */}
        <Boundary at={path} onRetry={() => client.removeQueries({ type: "inactive" })}>
          {children}
        </Boundary>
      </main>
      <KeySheet />
    </>
  );
}
