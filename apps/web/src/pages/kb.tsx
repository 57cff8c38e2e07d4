import { Route, Switch } from "wouter";
import { Browse } from "../kb/browse.tsx";
import { PageView } from "../kb/page-view.tsx";
import { NoSuchPage } from "../parts/no-such-page.tsx";
import "../kb/kb.css";

/** The knowledge base: its directories, its pages, and what became of each. */
export function Knowledge() {
  return (
    <Switch>
      <Route path="/kb" component={Browse} />
      <Route path="/kb/pages/:id">{({ id }) => <PageView key={id} id={id} />}</Route>
      <Route path="/kb/pages/:id/:view">{({ id, view }) => <PageView key={id} id={id} view={view} />}</Route>
      <Route component={NoSuchPage} />
    </Switch>
  );
}
