import { useState } from "react";
import { api, ask } from "../api.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Form, TextField } from "../parts/fields.tsx";
import { useAct } from "../parts/use-act.ts";
import { words } from "../words.ts";

/** Puts a task of one's own into the queue. Sending it twice puts it there once. */
export function NewTask({ onClose }: { readonly onClose: () => void }) {
  const [title, setTitle] = useState("");
  const make = useAct("tasks", () => ask(api.tasks.$post({ header: {}, json: { title: title.trim() } })), onClose);
  return (
    <Dialog title={words.tasks.newTitle} onClose={onClose}>
      <Form
        submit={words.tasks.add}
        isBusy={make.isPending}
        error={make.error}
        onSubmit={() => make.mutate(undefined)}
        onCancel={onClose}
      >
        <TextField label={words.tasks.newLabel} value={title} onChange={setTitle} isRequired />
      </Form>
    </Dialog>
  );
}
