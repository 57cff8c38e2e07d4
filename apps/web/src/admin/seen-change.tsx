import { Diff } from "../card/diff.tsx";
import { words } from "../words.ts";

interface Props {
  /** As a unified diff; empty where nothing would change. */
  readonly diff: string;
  readonly label: string;
  readonly isBusy: boolean;
  readonly onWrite: () => void;
}

/** What would change, as the server has it at this moment, and the button that writes exactly that. */
export function SeenChange({ diff, label, isBusy, onWrite }: Props) {
  return (
    <div ref={bringIntoSight} className="seen-change" role="status">
      {diff === "" ? (
        <p>{words.admin.definitions.unchanged}</p>
      ) : (
        <>
          <Diff text={diff} label={label} />
          <div className="buttons">
            <button type="button" className="primary" disabled={isBusy} onClick={onWrite}>
              {words.admin.rules.write}
            </button>
          </div>
        </>
      )}
    </div>
  );
}

function bringIntoSight(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: "nearest" });
}
