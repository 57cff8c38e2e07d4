import { useState } from "react";
import { Dialog } from "../parts/dialog.tsx";
import { ExactLine } from "../parts/exact-text.tsx";
import { Form, TextField } from "../parts/fields.tsx";
import { useAct } from "../parts/use-act.ts";
import { words } from "../words.ts";
import { bringFiles } from "./bring-files.ts";

const names = words.kb;

/** Files of this machine as pages; says what came of each. */
export function ImportDialog({ dir: given, onClose }: { readonly dir: string; readonly onClose: () => void }) {
  const [dir, setDir] = useState(given);
  const [files, setFiles] = useState<readonly File[]>([]);
  const bring = useAct("pages", () => bringFiles(dir.trim(), files));
  return (
    <Dialog title={names.importTitle} onClose={onClose}>
      {bring.data !== undefined ? (
        <>
          <div role="status">
            <ul className="lines">
              {bring.data.map(({ path, outcome, notes }) => (
                <li key={path}>
                  <ExactLine text={names.imported(path, outcome)} />{" "}
                  <span className="fine">
                    <ExactLine text={notes.join("; ")} />
                  </span>
                </li>
              ))}
            </ul>
          </div>
          <div className="buttons">
            <button type="button" onClick={onClose}>
              {words.keys.close}
            </button>
          </div>
        </>
      ) : (
        <Form
          submit={names.importDo}
          isBusy={bring.isPending || files.length === 0}
          error={bring.error}
          onSubmit={() => bring.mutate(undefined)}
          onCancel={onClose}
        >
          <p>{names.importLead}</p>
          <label className="field">
            <span className="label">{names.files}</span>
            <input
              type="file"
              accept=".md,text/markdown"
              multiple
              onChange={(event) => setFiles([...(event.target.files ?? [])])}
            />
          </label>
          <TextField label={names.dir} value={dir} onChange={setDir} isCode />
        </Form>
      )}
    </Dialog>
  );
}
