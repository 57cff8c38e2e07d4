import { ExactLine } from "../parts/exact-text.tsx";
import { words } from "../words.ts";
import type { rememberedOf } from "./read-card.ts";

interface Props {
  readonly tool: string;
  readonly remembered: ReturnType<typeof rememberedOf>;
  readonly units: readonly string[];
}

/** What runs without asking once an answer is remembered, which may be more than this very call. */
export function Remembered({ tool, remembered, units }: Props) {
  const isMore = Array.isArray(remembered) && remembered.some((unit) => !units.includes(unit));
  return (
    <p className="fine remembered">
      {remembered === undefined ? (
        words.card.notRemembered
      ) : (
        <>
          {words.card.remembers}{" "}
          {remembered === "all" ? (
            <ExactLine text={words.card.alwaysTool(tool)} />
          ) : (
            remembered.map((unit, n) => (
              <span key={n}>
                {n > 0 && ", "}
                <code>
                  <ExactLine text={unit} />
                </code>
              </span>
            ))
          )}
          {isMore && ` ${words.card.remembersMore}`}
        </>
      )}
    </p>
  );
}
