import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, ask } from "../api.ts";
import { ExactLine } from "../parts/exact-text.tsx";
import { words } from "../words.ts";
import { Form, TextField } from "../parts/fields.tsx";
import type { ToolScope } from "./tool-modes.tsx";

const names = words.admin.rules;

/** Why the gate says what it says of a call, row by row. */
export function Explain({ scope }: { readonly scope: ToolScope }) {
  const [tool, setTool] = useState("");
  const [args, setArgs] = useState("{}");
  const explain = useMutation({ mutationFn: () => ask(api.explain.$post({ json: { ...scope, tool, args } })) });
  // What was said was of another call.
  const anew = (set: (text: string) => void) => (text: string) => {
    set(text);
    explain.reset();
  };
  return (
    <section className="admin-part">
      <h2>{names.explain}</h2>
      <p className="lead">{names.explainLead}</p>
      <Form
        submit={names.ask}
        isBusy={explain.isPending || tool === ""}
        error={explain.error}
        onSubmit={() => explain.mutate()}
      >
        <TextField label={names.tool} value={tool} onChange={anew(setTool)} isCode isRequired />
        <TextField label={names.args} value={args} onChange={anew(setArgs)} rows={3} isCode />
      </Form>
      {explain.data !== undefined && (
        <div role="status">
          <p>
            {names.verdict}: <strong>{explain.data.now.verdict}</strong> <ExactLine text={explain.data.now.reason} />
          </p>
          {explain.data.now.detail !== undefined && (
            <p>
              <ExactLine text={explain.data.now.detail} />
            </p>
          )}
          <table className="table">
            <tbody>
              {explain.data.rows.map(({ row, said, isFirst }, index) => (
                <tr key={index} aria-current={isFirst || undefined}>
                  <td>{words.card.row(row)}</td>
                  <td>{said === null ? "–" : said.verdict}</td>
                  <td className="fine">{said !== null && <ExactLine text={said.reason} />}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
