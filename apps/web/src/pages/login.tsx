import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ask, signInRequest } from "../api.ts";
import { takeGoal } from "../parts/goal.ts";
import { Refusal } from "../parts/states.tsx";
import { words } from "../words.ts";
import "./login.css";

/** Signs in with the code of a login link, on a click: looking at the link uses up nothing. */
export function Login() {
  const [code] = useState(() => location.hash.slice(1));
  const signIn = useMutation({
    mutationFn: () => ask(signInRequest.$post({ json: { code } })),
    onSuccess: () => location.replace(takeGoal()),
  });
  const [why] = useState(() => new URLSearchParams(location.search).get("refused"));
  // Anybody can write an address: only what these pages know to say is said.
  const refusal =
    why === null ? undefined : (words.login.refusals.find(([name]) => name === why)?.[1] ?? words.login.failed);
  const ways = useQuery({ queryKey: ["ways-in"], queryFn: () => ask(signInRequest.$get()) });
  const provider = ways.data?.provider ?? null;
  return (
    <main className="login">
      <h1>{words.product}</h1>
      {code === "" ? (
        <>
          {provider !== null && (
            <p>
              <a className="button primary" href="/session/oidc">
                {words.login.through(provider)}
              </a>
            </p>
          )}
          <p>{words.login.without}</p>
          <pre>{words.login.command}</pre>
        </>
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            signIn.mutate();
          }}
        >
          <p>{words.login.with}</p>
          <button type="submit" className="primary" disabled={signIn.isPending || signIn.isSuccess}>
            {words.login.button}
          </button>
        </form>
      )}
      {refusal !== undefined && <p role="alert">{refusal}</p>}
      <Refusal error={signIn.error} />
    </main>
  );
}
