import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { api, ask } from "../api.ts";
import { ExactLine } from "../parts/exact-text.tsx";
import { parseJson } from "../parts/parse-json.ts";
import { words } from "../words.ts";
import { Form, TextField } from "../parts/fields.tsx";
import type { ToolScope } from "./tool-modes.tsx";

const names = words.admin.rules;
const example = JSON.stringify({ rules: [{ target: { kind: "tool", name: "mail.send" }, mode: "ask" }] }, undefined, 2);

/** What other rules would have made of the calls of late. */
export function Simulate({ scope }: { readonly scope: ToolScope }) {
  const [text, setText] = useState(example);
  const document = parse(text);
  const simulate = useMutation({
    mutationFn: () => ask(api.simulate.$post({ json: { ...scope, document: text } })),
  });
  const { data } = simulate;
  return (
    <section className="admin-part">
      <h2>{names.simulate}</h2>
      <p className="lead">{names.simulateLead}</p>
      <Form
        submit={names.try}
        isBusy={simulate.isPending || document === undefined}
        error={simulate.error}
        onSubmit={() => simulate.mutate()}
      >
        <TextField
          label={names.document}
          value={text}
          onChange={(next) => {
            setText(next);
            simulate.reset();
          }}
          rows={6}
          isCode
          hint={document === undefined ? words.card.notJson : undefined}
        />
      </Form>
      {data !== undefined && (
        <div role="status">
          <p>{names.tried(data.judged, data.changeCount)}</p>
          <ul className="lines">
            {data.changes.map((change) => (
              <li key={change.callId}>
                <Link href={`/runs/${change.runId}#call-${change.callId}`}>
                  <ExactLine text={change.tool} />
                </Link>{" "}
                {change.before.verdict} → {change.after.verdict}{" "}
                <span className="fine">
                  <ExactLine text={change.after.reason} />
                </span>
              </li>
            ))}
          </ul>
        </div>
      )}
    </section>
  );
}

function parse(text: string): object | undefined {
  const value = parseJson(text)?.value;
  return typeof value === "object" && value !== null ? value : undefined;
}
