import { useEffect, useState } from "react";
import { type Approval, Refused } from "../api.ts";
import { ExactLine } from "../parts/exact-text.tsx";
import { layJson } from "../parts/lay-json.ts";
import { parseJson } from "../parts/parse-json.ts";
import { useMe } from "../queries.ts";
import { words } from "../words.ts";
import { AlwaysDialog } from "./always-dialog.tsx";
import { EditBox } from "./edit-box.tsx";
import type { CardActions, Place } from "./card.tsx";
import { Options } from "./options.tsx";
import { type CardBody, rememberedOf } from "./read-card.ts";
import { Remembered } from "./remembered.tsx";
import { SayMore } from "./say-more.tsx";
import { type Said, useDecision } from "./use-decision.ts";

interface Props {
  readonly approval: Approval;
  readonly body: CardBody;
  readonly place: Place;
  /** All of what is asked for was within a reader's reach; until then nobody agrees to it. */
  readonly isWithinReach: boolean;
  readonly arm: (act: () => void) => () => void;
  /** Told what keys do on this card. */
  readonly onActions: (actions: CardActions) => void;
}

/** What can be said of an approval, and by which key. What was typed stays until the server settled the card. */
export function Decide({ approval, body, place, isWithinReach, arm, onActions }: Props) {
  const me = useMe();
  const decision = useDecision(approval);
  const [typed, setTyped] = useState({ feedback: "", note: "" });
  const [edited, setEdited] = useState<string>();
  const [option, setOption] = useState<string>();
  const [isTogether, setTogether] = useState(false);
  const [isAlwaysOpen, setAlwaysOpen] = useState(false);

  const isHeld = approval.heldBy !== null;
  // Until it is known who looks at the card, nobody decides on it.
  const isBusy = decision.isPending || me.data === undefined;
  const isOutcome = approval.kind === "outcome";
  const needsOption = body.options.length > 0 && option === undefined;
  const isNotJson = edited !== undefined && parseJson(edited) === undefined;
  const mayApprove = isWithinReach && !needsOption && !isNotJson;

  const say = (said: Said) => (): void => {
    if (isBusy || isHeld) return;
    const isApproved = said.answer === "approve";
    if (isYes(said.answer) && !mayApprove) return;
    decision.mutate({
      ...said,
      ...typed,
      ...(isTogether ? { equal: true } : {}),
      ...(isApproved && option !== undefined ? { selectedOption: option } : {}),
      ...(isApproved && edited !== undefined && edited !== layJson(approval.args) ? { editedArgs: edited } : {}),
    });
  };

  const allow = say({ answer: "approve" });
  const remembered = rememberedOf(body);
  const remember = { scope: "run", ...(Array.isArray(remembered) ? { units: remembered } : {}) } as const;
  const allowRun = remembered === undefined ? undefined : say({ answer: "approve", remember });
  const openAlways = (): void => {
    if (!isBusy && !isHeld && mayApprove) setAlwaysOpen(true);
  };
  const deny = say({ answer: "deny" });
  const outcomes = (["done", "retry", "give_up"] as const).map((answer) => say({ answer }));
  const choices: readonly Choice[] = isOutcome
    ? (["done", "retry", "give_up"] as const).map((answer, n) => ({
        name: words.card.outcome[answer],
        digit: n + 1,
        act: outcomes[n] ?? deny,
        kind: n === 0 ? "primary" : "plain",
        isYes: isYes(answer),
      }))
    : place === "queue" || edited !== undefined
      ? [
          {
            name: edited === undefined ? words.card.confirm : words.card.approveEdited,
            digit: 1,
            act: allow,
            kind: "primary",
            isYes: true,
          },
          { name: words.card.dismiss, digit: 4, act: deny, kind: "danger", isYes: false },
        ]
      : [
          { name: words.card.allowOnce, digit: 1, act: allow, kind: "primary", isYes: true },
          ...(approval.asksEachTime === null
            ? ([
                ...(allowRun === undefined
                  ? []
                  : ([{ name: words.card.allowRun, digit: 2, act: allowRun, kind: "plain", isYes: true }] as const)),
                { name: words.card.always, digit: 3, act: openAlways, kind: "plain", isYes: true },
              ] as const)
            : []),
          { name: words.card.deny, digit: 4, act: deny, kind: "danger", isYes: false },
        ];

  useEffect(() => {
    const onDigit = Object.fromEntries(choices.map(({ digit, act }) => [digit, act]));
    onActions({ onDigit, refuse: isOutcome ? undefined : deny });
  });

  if (me.data !== undefined && !me.data.mayDecide) return <p className="fine">{words.card.mayNot}</p>;
  return (
    <>
      {body.options.length > 0 && (
        <Options options={body.options} label={body.role ?? words.card.choose} chosen={option} onChoose={setOption} />
      )}
      {edited !== undefined && <EditBox text={edited} isNotJson={isNotJson} onChange={setEdited} />}
      <SayMore
        approval={approval}
        typed={typed}
        onType={setTyped}
        isEditing={edited !== undefined}
        onEdit={() => setEdited(edited === undefined ? layJson(approval.args) : undefined)}
        isTogether={isTogether}
        onTogether={setTogether}
      />
      {place !== "queue" && approval.asksEachTime !== null && (
        <p className="fine">{words.card.eachTime(approval.asksEachTime)}</p>
      )}
      {!isWithinReach && (
        <p className="fine" role="status">
          {words.card.seeAll}
        </p>
      )}
      {decision.isError && (
        <p className="refused" role="alert">
          <ExactLine text={decision.error.message} />
          {decision.error instanceof Refused && <span className="fine"> ({decision.error.problem.code})</span>}
        </p>
      )}
      {choices.some((choice) => choice.act === openAlways) && (
        <Remembered tool={approval.tool} remembered={remembered} units={body.units} />
      )}
      <div className="buttons">
        {choices.map(({ name, digit, act, kind, isYes: agrees }, n) => (
          <button
            key={name}
            type="button"
            className={kind}
            disabled={isBusy || isHeld || (agrees && !mayApprove)}
            onClick={arm(act)}
          >
            {decision.isPending && n === 0 ? words.card.sending : name} <kbd aria-hidden="true">{digit}</kbd>
          </button>
        ))}
      </div>
      {isAlwaysOpen && (
        <AlwaysDialog
          approval={approval}
          units={remembered === "all" ? [] : (remembered ?? [])}
          onClose={() => setAlwaysOpen(false)}
          onChoose={(remember) => {
            setAlwaysOpen(false);
            say({ answer: "approve", remember })();
          }}
        />
      )}
    </>
  );
}

interface Choice {
  readonly name: string;
  /** The key that does it; one that denies in one place allows nothing in another. */
  readonly digit: number;
  readonly act: () => void;
  readonly kind: "primary" | "plain" | "danger";
  readonly isYes: boolean;
}

/** True of what lets a call run. */
function isYes(answer: Said["answer"]): boolean {
  return answer === "approve" || answer === "retry";
}
