import { type ComponentType, memo, useState } from "react";
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
  /** Where all of it is, if `text` is only a part that says so. */
  readonly wholeAt?: string | undefined;
  /** Draws a part from the beginning; unless given it is drawn as exact text, to which what is shown later is added. */
  readonly Body?: ComponentType<{ readonly text: string }>;
}

/** Others' text, however long: whole where it is short, else a beginning that says so, and ways to the rest. */
export function LongText({ text, fileName, wholeAt, Body }: Props) {
  const [shownLength, setShownLength] = useState(mostAtOnce);
  const [isHandedOver, setHandedOver] = useState(false);
  const isWhole = text.length <= shownLength;
  useTellReach(isWhole || isHandedOver);
  const shown = isWhole ? text : beginning(text, shownLength);
  const body = Body === undefined ? <ExactParts text={shown} /> : <Body text={shown} />;
  if (text.length <= mostAtOnce) return body;

  return (
    <div className="long">
      {body}
      <p className="long-more">
        <strong>
          {!isWhole
            ? words.long.part(shownLength, text.length)
            : wholeAt === undefined
              ? words.long.whole(text.length)
              : words.long.given(text.length)}
        </strong>
        {!isWhole && (
          <button
            type="button"
            onClick={({ currentTarget }) => {
              // It goes when there is no more, and the focus with it; what stands beside it stays.
              if (shownLength + mostMore >= text.length)
                (currentTarget.nextElementSibling as HTMLElement | null)?.focus();
              setShownLength(shownLength + mostMore);
            }}
          >
            {words.long.more}
          </button>
        )}
        {wholeAt === undefined ? (
          <button
            type="button"
            onClick={() => {
              download(text, fileName);
              setHandedOver(true);
            }}
          >
            {words.long.download}
          </button>
        ) : (
          <a className="button" href={wholeAt} download={fileName}>
            {words.long.download}
          </a>
        )}
      </p>
    </div>
  );
}

/** Part by part, so that what is added is all that has to be drawn; a line that goes on in the next part says so. */
function ExactParts({ text }: { readonly text: string }) {
  const cuts = [0];
  for (let cut = mostAtOnce; cut < text.length; cut += mostMore) cuts.push(beginning(text, cut).length);
  return cuts.map((from, n) => (
    <ExactPart
      key={from}
      text={text.slice(from, cuts[n + 1] ?? text.length)}
      isContinued={n > 0 && text[from - 1] !== "\n"}
    />
  ));
}

const ExactPart = memo(ExactText);

/** True where not all of a text is drawn at first. */
export function isLong(text: string): boolean {
  return text.length > mostAtOnce;
}

/** At most `length` of a text, and no half of a character. */
function beginning(text: string, length: number): string {
  const part = text.slice(0, length);
  return part.isWellFormed() || !text.isWellFormed() ? part : part.slice(0, -1);
}
