import { useEffect, useRef, useState } from "react";
import { visibleText } from "./visible.ts";

/** Says each text once to whoever listens to the page, when there is a pause; the focus stays where it is. */
export function Announce({ texts }: { readonly texts: readonly string[] }) {
  const said = useRef(0);
  const [now, setNow] = useState({ text: "", count: 0 });

  useEffect(() => {
    if (texts.length > said.current) {
      const text = texts
        .slice(said.current)
        .map((one) => visibleText(one))
        .join(". ");
      setNow({ text, count: texts.length });
    }
    said.current = texts.length;
  }, [texts]);

  return (
    <p className="unseen" aria-live="polite">
      {/* Another one of the same words is said again. */}
      <span key={now.count}>{now.text}</span>
    </p>
  );
}
