import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { api, ask, type RunTree } from "../api.ts";
import { Dialog } from "../parts/dialog.tsx";
import { ExactLine } from "../parts/exact-text.tsx";
import { HeldFact } from "../parts/thrown-by.tsx";
import { Time } from "../parts/time.tsx";
import { useMe } from "../queries.ts";
import { Refusal } from "../parts/states.tsx";
import { words } from "../words.ts";
import { isLive } from "./standing.ts";
import { StandingBadge } from "./standing-badge.tsx";

const money = new Intl.NumberFormat("en", { maximumFractionDigits: 4 });
const count = new Intl.NumberFormat("en");

/** What run this is, how it stands, and what it cost so far. */
export function RunHead({ run }: { readonly run: RunTree["run"] }) {
  const me = useMe();
  const [isAsking, setAsking] = useState(false);
  const names = words.runs.facts;
  const mayAct =
    me.data !== undefined && me.data.role !== "viewer" && (me.data.id === run.startedBy.id || me.data.role === "admin");
  return (
    <header className="run-head">
      <div className="page-head">
        <h1>
          <ExactLine text={run.title} />
        </h1>
        <StandingBadge run={run} />
        {isLive(run) && mayAct && (
          <button type="button" className="danger" onClick={() => setAsking(true)}>
            {words.runs.cancelRun}
          </button>
        )}
      </div>
      {run.waitsOn === "quarantine" && <Quarantine runId={run.id} mayResume={mayAct} />}
      <dl className="facts">
        <HeldFact heldBy={run.heldBy} />
        <div>
          <dt>{words.runs.definition}</dt>
          <dd>
            <ExactLine text={run.definition} /> v{run.definitionVersion}
          </dd>
        </div>
        <div>
          <dt>{names.started}</dt>
          <dd>
            <Time at={run.createdAt} /> {names.by} <ExactLine text={run.startedBy.name} />
          </dd>
        </div>
        <div>
          <dt>{names.tokens}</dt>
          <dd>
            {count.format(run.inputTokens)} in, {count.format(run.outputTokens)} out
          </dd>
        </div>
        <div>
          <dt>{names.turns}</dt>
          <dd>{count.format(run.turns)}</dd>
        </div>
        <div>
          <dt>{names.calls}</dt>
          <dd>{count.format(run.callCount)}</dd>
        </div>
        {run.parentId !== null && (
          <div>
            <dt>{names.parent}</dt>
            <dd>
              <Link href={`/runs/${run.parentId}`}>{words.runs.parentRun}</Link>
            </dd>
          </div>
        )}
        {run.costMicros > 0 && (
          <div>
            <dt>{names.cost}</dt>
            <dd>{money.format(run.costMicros / 1_000_000)}</dd>
          </div>
        )}
      </dl>
      {isAsking && <CancelDialog runId={run.id} onClose={() => setAsking(false)} />}
    </header>
  );
}

/** Says why nobody works on the run, and lets who may have it tried again. */
function Quarantine({ runId, mayResume }: { readonly runId: string; readonly mayResume: boolean }) {
  const client = useQueryClient();
  const resume = useMutation({
    mutationFn: () => ask(api.runs[":id"].resume.$post({ param: { id: runId } })),
    onSettled: async () => await client.invalidateQueries({ queryKey: ["runs"] }),
  });
  return (
    <div className="fields">
      <p>{words.runs.quarantined}</p>
      {mayResume && (
        <div className="buttons">
          <button type="button" disabled={resume.isPending} onClick={() => resume.mutate()}>
            {words.runs.resume}
          </button>
        </div>
      )}
      <Refusal error={resume.error} />
    </div>
  );
}

function CancelDialog({ runId, onClose }: { readonly runId: string; readonly onClose: () => void }) {
  const client = useQueryClient();
  const [reason, setReason] = useState("");
  const cancel = useMutation({
    mutationFn: () =>
      ask(api.runs[":id"].cancel.$post({ param: { id: runId }, json: reason.trim() === "" ? {} : { reason } })),
    onSuccess: onClose,
    onSettled: async () => {
      await Promise.all(["tasks", "runs"].map((noun) => client.invalidateQueries({ queryKey: [noun] })));
    },
  });
  return (
    <Dialog title={words.runs.cancelTitle} onClose={onClose}>
      <form
        className="fields"
        onSubmit={(event) => {
          event.preventDefault();
          cancel.mutate();
        }}
      >
        <p>{words.runs.cancelLead}</p>
        <label className="field">
          <span className="label">{words.runs.reason}</span>
          <input maxLength={500} value={reason} onChange={(event) => setReason(event.target.value)} />
        </label>
        <Refusal error={cancel.error} />
        <div className="buttons">
          <button type="submit" className="danger" disabled={cancel.isPending}>
            {words.runs.cancelYes}
          </button>
          <button type="button" onClick={onClose}>
            {words.runs.cancelNo}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
