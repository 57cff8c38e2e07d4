import { type ComponentType, useState } from "react";
import { words } from "../words.ts";
import { download } from "./download.ts";
import { ExactText } from "./exact-text.tsx";
import { useTellReach } from "./reach.ts";
import "./long-text.css";

/** More than this is not drawn at once: a page has to stay usable. */
const mostAtOnce = 20_000;

/** As much as a click on "more" adds. */
const mostMore = 100_000;

interface Props {
  readonly text: string;
  /** What the file is called that holds all of it. */
  readonly fileName: string;
  /** Draws a part from the beginning; as exact text unless given. */
  readonly Body?: ComponentType<{ readonly text: string }>;
}

/** Others' text, however long: whole where it is short, else a beginning that says so, and ways to the rest. */
export function LongText({ text, fileName, Body = ExactText }: Props) {
  const [shownLength, setShownLength] = useState(mostAtOnce);
  const [isHandedOver, setHandedOver] = useState(false);
  const isWhole = text.length <= shownLength;
  useTellReach(isWhole || isHandedOver);
  if (text.length <= mostAtOnce) return <Body text={text} />;

  return (
    <div className="long">
      <Body text={isWhole ? text : beginning(text, shownLength)} />
      <p className="long-more">
        <strong>{isWhole ? words.long.whole(text.length) : words.long.part(shownLength, text.length)}</strong>
        {!isWhole && (
          <button type="button" onClick={() => setShownLength(shownLength + mostMore)}>
            {words.long.more}
          </button>
        )}
        <button
          type="button"
          onClick={() => {
            download(text, fileName);
            setHandedOver(true);
          }}
        >
          {words.long.download}
        </button>
      </p>
    </div>
  );
}

/** True where not all of a text is drawn at first. */
export function isLong(text: string): boolean {
  return text.length > mostAtOnce;
}

/** At most `length` of a text, and no half of a character. */
function beginning(text: string, length: number): string {
  const part = text.slice(0, length);
  return part.isWellFormed() || !text.isWellFormed() ? part : part.slice(0, -1);
}
