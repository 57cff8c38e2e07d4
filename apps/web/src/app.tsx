import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { Redirect, Route, Switch } from "wouter";
import { Refused } from "./api.ts";
import { Frame } from "./frame.tsx";
import { Login } from "./pages/login.tsx";
import { Tasks } from "./pages/tasks.tsx";
import { later } from "./parts/later.tsx";
import { words } from "./words.ts";

const TaskPage = later(async () => (await import("./pages/task.tsx")).TaskPage);
const Runs = later(async () => (await import("./pages/runs.tsx")).Runs);
const RunPage = later(async () => (await import("./pages/run.tsx")).RunPage);
const Knowledge = later(async () => (await import("./pages/kb.tsx")).Knowledge);
const Admin = later(async () => (await import("./pages/admin.tsx")).Admin);

const client = new QueryClient({
  defaultOptions: {
    // Whether the browser believes in a network says nothing about the server: it is asked, and its silence is told.
    mutations: { networkMode: "always" },
    queries: {
      networkMode: "always",
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
          </Frame>
        </Route>
      </Switch>
    </QueryClientProvider>
  );
}
