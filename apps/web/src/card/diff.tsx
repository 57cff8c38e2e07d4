import { ExactLine } from "../parts/exact-text.tsx";
import { LongText } from "../parts/long-text.tsx";
import { words } from "../words.ts";
import "./diff.css";

const kinds = { "+": "added", "-": "removed", "@": "place" } as const;

/** What a line of a diff begins with. */
const signs = /^[ +-]/;

/** A change as a unified diff. Signs say what colours say, too. */
export function Diff({ text, label = words.card.preview }: { readonly text: string; readonly label?: string }) {
  return (
    <figure className="diff">
      <figcaption className="label">{label}</figcaption>
      <LongText text={text} fileName="change.diff" Body={DiffLines} />
    </figure>
  );
}

function DiffLines({ text }: { readonly text: string }) {
  return (
    <pre>
      {text.split("\n").map((line, n) => (
        <span key={n} className={`diff-line ${kinds[line[0] as keyof typeof kinds] ?? ""}`}>
          {signs.test(line) ? line[0] : ""}
          <ExactLine text={signs.test(line) ? line.slice(1) : line} />
          {"\n"}
        </span>
      ))}
    </pre>
  );
}
