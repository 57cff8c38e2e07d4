import { Fragment } from "react";
import { type Piece, visibleLines, visibleProse } from "./visible.ts";
import "./exact-text.css";

/** Others' text in a line: all of it, as text, with a mark for whatever would hide or act. Line ends show as marks. */
export function ExactLine({ text }: { readonly text: string }) {
  const [first = [], ...rest] = visibleLines(text);
  const pieces = [first, ...rest].flatMap((line, n) => (n === 0 ? line : [{ text: "⏎", isMark: true }, ...line]));
  return <Pieces pieces={pieces} />;
}

/** A piece of others' prose, within a line that goes on. */
export function ExactProse({ text }: { readonly text: string }) {
  return <Pieces pieces={visibleProse(text)} />;
}

/** Others' text as a block that keeps its lines and wraps them. `isContinued`: its first line began in the block before. */
export function ExactText({ text, isContinued = false }: { readonly text: string; readonly isContinued?: boolean }) {
  return (
    <pre className={isContinued ? "exact goes-on" : "exact"}>
      {visibleLines(text).map((line, n) => (
        <span key={n} className="exact-line">
          <Pieces pieces={line} />
          {"\n"}
        </span>
      ))}
    </pre>
  );
}

function Pieces({ pieces }: { readonly pieces: readonly Piece[] }) {
  return pieces.map((piece, n) =>
    piece.isMark ? (
      <span key={n} className="mark">
        {piece.text}
      </span>
    ) : (
      <Fragment key={n}>{piece.text}</Fragment>
    ),
  );
}
