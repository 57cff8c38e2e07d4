import { Link } from "wouter";
import { words } from "../words.ts";

/** What an address shows that leads nowhere. */
export function NoSuchPage() {
  return (
    <>
      <h1>{words.noSuchPage}</h1>
      <p>
        <Link href="/tasks">{words.toQueue}</Link>
      </p>
    </>
  );
}
