import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { useState } from "react";
import { Redirect, Route, Switch } from "wouter";
import { Refused } from "./api.ts";
import { Frame } from "./frame.tsx";
import { Login } from "./pages/login.tsx";
import { Tasks } from "./pages/tasks.tsx";
import { Boundary } from "./parts/boundary.tsx";
import { takeGoal } from "./parts/goal.ts";
import { later } from "./parts/later.tsx";
import { NoSuchPage } from "./parts/no-such-page.tsx";

const TaskPage = later(async () => (await import("./pages/task.tsx")).TaskPage);
const Runs = later(async () => (await import("./pages/runs.tsx")).Runs);
const RunPage = later(async () => (await import("./pages/run.tsx")).RunPage);
const Knowledge = later(async () => (await import("./pages/kb.tsx")).Knowledge);
const Admin = later(async () => (await import("./pages/admin.tsx")).Admin);

/** Who is refused something may have lost a role or the session since the page was drawn: who one is is read again. */
const onError = (error: Error): void => {
  const isRights = error instanceof Refused && [401, 403].includes(error.problem.status);
  const key = { queryKey: ["me"] };
  if (isRights && client.getQueryState(key.queryKey)?.fetchStatus === "idle") void client.invalidateQueries(key);
};

const client = new QueryClient({
  queryCache: new QueryCache({
    onError: (error, { queryKey: [noun] }) => {
      if (noun !== "me") onError(error);
    },
  }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    // Whether a server can be reached is not the browser's to say: one on this machine needs no network. And nothing that
    // was asked for is kept to be sent by itself later.
    mutations: { networkMode: "always" },
    queries: {
      networkMode: "always",
      refetchOnReconnect: true,
      staleTime: 30_000,
      // What the server refused it refuses again; what did not answer may answer.
      retry: (count, error) => !(error instanceof Refused) && count < 3,
    },
  },
});

/** Where whoever signed in through a provider comes in. */
function Home() {
  const [goal] = useState(takeGoal);
  return <Redirect to={goal} replace />;
}

/** All pages. What the address says is what is shown: each card, run and filter has a link of its own. */
export function App() {
  return (
    <QueryClientProvider client={client}>
      <Boundary>
        <Switch>
          <Route path="/login" component={Login} />
          <Route>
            <Frame>
              <Switch>
                <Route path="/" component={Home} />
                <Route path="/tasks" component={Tasks} />
                <Route path="/tasks/:id">{({ id }) => <TaskPage key={id} id={id} />}</Route>
                <Route path="/runs" component={Runs} />
                <Route path="/runs/:id">{({ id }) => <RunPage key={id} id={id} />}</Route>
                <Route path="/kb/*?" component={Knowledge} />
                <Route path="/admin/*?" component={Admin} />
                <Route component={NoSuchPage} />
              </Switch>
            </Frame>
          </Route>
        </Switch>
      </Boundary>
    </QueryClientProvider>
  );
}
