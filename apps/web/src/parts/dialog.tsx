import { type ReactNode, useId, useLayoutEffect, useRef } from "react";
import "./dialog.css";

interface Props {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** Something to be settled before anything else. Escape and the browser's own ways close it; nothing outside hears of them. */
export function Dialog({ title, onClose, children }: Props) {
  const element = useRef<HTMLDialogElement>(null);
  const headingId = useId();

  // Before the dialog is taken out of the page: else the browser does not know any more where the focus was.
  useLayoutEffect(() => {
    const dialog = element.current;
    const goBack = noteFocus();
    dialog?.showModal();
    return () => {
      dialog?.close();
      goBack();
    };
  }, []);

  return (
    <dialog
      ref={element}
      className="dialog"
      aria-labelledby={headingId}
      onKeyDown={(event) => event.stopPropagation()}
      onCancel={(event) => {
        event.preventDefault();
        event.stopPropagation();
        onClose();
      }}
    >
      <h2 id={headingId}>{title}</h2>
      {children}
    </dialog>
  );
}

/** Returns how to give the focus back to what has it now, or, where that is gone or cannot be pressed, to what it stood in. */
function noteFocus(): () => void {
  const before: HTMLElement[] = [];
  for (let at = document.activeElement; at instanceof HTMLElement && at !== document.body; at = at.parentElement) {
    if (at.tabIndex >= 0 || at.id === "page") before.push(at);
  }
  const main = document.getElementById("page");
  return () => {
    // What was settled in the dialog may change the page first.
    requestAnimationFrame(() =>
      setTimeout(() => {
        if (document.activeElement !== null && document.activeElement !== document.body) return;
        for (const element of [...before, ...(main === null ? [] : [main])]) {
          element.focus({ preventScroll: true });
          if (document.activeElement === element) return;
        }
      }),
    );
  };
}
