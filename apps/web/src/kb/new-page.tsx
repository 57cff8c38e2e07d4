import { useState } from "react";
import { useLocation } from "wouter";
import { api, ask } from "../api.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Form, TextField } from "../parts/fields.tsx";
import { useAct } from "../parts/use-act.ts";
import { words } from "../words.ts";

const names = words.kb;

/** Makes an empty page and goes to where it is written. */
export function NewPage({ dir: given, onClose }: { readonly dir: string; readonly onClose: () => void }) {
  const [, goTo] = useLocation();
  const [title, setTitle] = useState("");
  const [dir, setDir] = useState(given);
  const make = useAct(
    "pages",
    () => {
      const json = { title: title.trim(), dir: dir.trim() };
      return ask(api.pages.$post({ header: {}, json }));
    },
    ({ pageId }) => goTo(`/kb/pages/${pageId}/edit`),
  );
  return (
    <Dialog title={names.newTitle} onClose={onClose}>
      <Form
        submit={names.make}
        isBusy={make.isPending}
        error={make.error}
        onSubmit={() => make.mutate(undefined)}
        onCancel={onClose}
      >
        <TextField label={names.pageTitle} value={title} onChange={setTitle} isRequired />
        <TextField label={names.dir} value={dir} onChange={setDir} isCode hint="people/friends" />
      </Form>
    </Dialog>
  );
}
