import { useEffect, useRef, useState } from "react";

/** Says each text once to whoever listens to the page, when there is a pause; the focus stays where it is. */
export function Announce({ texts }: { readonly texts: readonly string[] }) {
  const said = useRef(0);
  const [now, setNow] = useState("");

  useEffect(() => {
    if (texts.length > said.current) setNow(texts.slice(said.current).join(". "));
    said.current = texts.length;
  }, [texts]);

  return (
    <p className="unseen" aria-live="polite">
      {now}
    </p>
  );
}
