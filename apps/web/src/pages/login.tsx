import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { ask, signInRequest } from "../api.ts";
import { takeGoal } from "../parts/goal.ts";
import { Refusal } from "../parts/states.tsx";
import { useHash } from "../parts/use-hash.ts";
import { words } from "../words.ts";
import "./login.css";

/** Where one signs in: with a login link, on a click, or through the provider. */
export function Login() {
  const code = useHash().slice(1);
  const [why] = useState(() => new URLSearchParams(location.search).get("refused"));
  // Anybody can write an address: only what these pages know to say is said.
  const refusal =
    why === null ? undefined : (words.login.refusals.find(([name]) => name === why)?.[1] ?? words.login.failed);
  return (
    <main className="login">
      <h1>{words.product}</h1>
      {code === "" ? <OtherWays /> : <WithLink key={code} code={code} />}
      {refusal !== undefined && <p role="alert">{refusal}</p>}
    </main>
  );
}

/** Looking at a link uses up nothing. One that is opened in the tab of another takes its place. */
function WithLink({ code }: { readonly code: string }) {
  const signIn = useMutation({
    mutationFn: () => ask(signInRequest.$post({ json: { code } })),
    onSuccess: () => location.replace(takeGoal()),
  });
  return (
    <>
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
      <Refusal error={signIn.error} />
    </>
  );
}

function OtherWays() {
  const ways = useQuery({ queryKey: ["ways-in"], queryFn: () => ask(signInRequest.$get()) });
  const provider = ways.data?.provider ?? null;
  return (
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
  );
}
