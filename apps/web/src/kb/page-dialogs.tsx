import { useState } from "react";
import { useLocation } from "wouter";
import { api, ask } from "../api.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Form, TextField } from "../parts/fields.tsx";
import { useAct } from "../parts/use-act.ts";
import { words } from "../words.ts";
import type { Page } from "./queries.ts";

const names = words.kb;

interface Props {
  readonly page: Page;
  readonly onClose: () => void;
}

/** Another title or directory for a page; links to it follow. */
export function MovePage({ page: given, onClose }: Props) {
  // As it was opened: only what was changed in here is sent.
  const [page] = useState(given);
  const [title, setTitle] = useState(page.title);
  const [dir, setDir] = useState(page.dir);
  const move = useAct(
    "pages",
    () =>
      ask(
        api.pages[":id"].$patch({
          param: { id: page.id },
          json: {
            ...(title.trim() === page.title ? {} : { title: title.trim() }),
            ...(dir.trim() === page.dir ? {} : { dir: dir.trim() }),
          },
        }),
      ),
    onClose,
  );
  return (
    <Dialog title={names.moveTitle} onClose={onClose}>
      <Form
        submit={names.moveDo}
        isBusy={move.isPending}
        error={move.error}
        onSubmit={() => move.mutate(undefined)}
        onCancel={onClose}
      >
        <p>{names.moveLead}</p>
        <TextField label={names.pageTitle} value={title} onChange={setTitle} isRequired />
        <TextField label={names.dir} value={dir} onChange={setDir} isCode />
      </Form>
    </Dialog>
  );
}

/** Takes a page away, after asking; its history brings it back. */
export function RemovePage({ page, onClose }: Props) {
  const [, goTo] = useLocation();
  const remove = useAct(
    "pages",
    () => ask(api.pages[":id"].$delete({ param: { id: page.id } })),
    () => goTo(`/kb/pages/${page.id}/history`),
  );
  return (
    <Dialog title={names.removeTitle} onClose={onClose}>
      <Form
        submit={names.removeDo}
        isDangerous
        isBusy={remove.isPending}
        error={remove.error}
        onSubmit={() => remove.mutate(undefined)}
        onCancel={onClose}
      >
        <p>{names.removeLead}</p>
      </Form>
    </Dialog>
  );
}
