import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { Redirect, Route, Switch } from "wouter";
import { Refused } from "./api.ts";
import { Frame } from "./frame.tsx";
import { Login } from "./pages/login.tsx";
import { Tasks } from "./pages/tasks.tsx";
import { Waiting } from "./parts/states.tsx";
import { words } from "./words.ts";

const TaskPage = lazy(async () => ({ default: (await import("./pages/task.tsx")).TaskPage }));
const Runs = lazy(async () => ({ default: (await import("./pages/runs.tsx")).Runs }));
const RunPage = lazy(async () => ({ default: (await import("./pages/run.tsx")).RunPage }));
const Knowledge = lazy(async () => ({ default: (await import("./pages/kb.tsx")).Knowledge }));
const Admin = lazy(async () => ({ default: (await import("./pages/admin.tsx")).Admin }));

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      // What the server refused it refuses again; what did not answer may answer.
      retry: (count, error) => !(error instanceof Refused) && count < 3,
    },
  },
});

/** All pages. What the address says is what is shown: each card, run and filter has a link of its own. */
export function App() {
  return (
    <QueryClientProvider client={client}>
      <Switch>
        <Route path="/login" component={Login} />
        <Route>
          <Frame>
            <Suspense fallback={<Waiting />}>
              <Switch>
                <Route path="/">
                  <Redirect to="/tasks" replace />
                </Route>
                <Route path="/tasks" component={Tasks} />
                <Route path="/tasks/:id">{({ id }) => <TaskPage id={id} />}</Route>
                <Route path="/runs" component={Runs} />
                <Route path="/runs/:id">{({ id }) => <RunPage id={id} />}</Route>
                <Route path="/kb/*?" component={Knowledge} />
                <Route path="/admin/*?" component={Admin} />
                <Route>
                  <h1>{words.noSuchPage}</h1>
                </Route>
              </Switch>
            </Suspense>
          </Frame>
        </Route>
      </Switch>
    </QueryClientProvider>
  );
}
