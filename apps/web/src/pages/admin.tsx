import { Link, Redirect, Route, Switch, useLocation } from "wouter";
import { Account } from "../admin/account.tsx";
import { Audit } from "../admin/audit.tsx";
import { Definitions } from "../admin/definitions.tsx";
import { Kill } from "../admin/kill.tsx";
import { People } from "../admin/people.tsx";
import { Rules } from "../admin/rules.tsx";
import { Secrets } from "../admin/secrets.tsx";
import { Webhooks } from "../admin/webhooks.tsx";
import { words } from "../words.ts";
import "../admin/admin.css";

const sections = {
  definitions: Definitions,
  rules: Rules,
  secrets: Secrets,
  people: People,
  webhooks: Webhooks,
  audit: Audit,
  kill: Kill,
  account: Account,
} as const;

/** What agents are, what they may do, and who may say so. */
export function Admin() {
  const [path] = useLocation();

  return (
    <div className="admin">
      <nav aria-label={words.admin.title}>
        {Object.keys(sections).map((name) => (
          <Link
            key={name}
            ref={path.startsWith(`/admin/${name}`) ? bringIntoSight : undefined}
            href={`/admin/${name}`}
            aria-current={path.startsWith(`/admin/${name}`) ? "page" : undefined}
          >
            {words.admin.sections[name as keyof typeof sections]}
          </Link>
        ))}
      </nav>
      <div className="admin-page">
        <Switch>
          {Object.entries(sections).map(([name, Part]) => (
            <Route key={name} path={`/admin/${name}`}>
              <Part />
            </Route>
          ))}
          <Route>
            <Redirect to="/admin/definitions" replace />
          </Route>
        </Switch>
      </div>
    </div>
  );
}

/** On a small screen the parts stand in a row that is wider than it. */
function bringIntoSight(link: HTMLAnchorElement | null): void {
  const row = link?.parentElement;
  if (link != null && row != null)
    row.scrollLeft = link.offsetLeft - row.offsetLeft - (row.clientWidth - link.offsetWidth) / 2;
}
