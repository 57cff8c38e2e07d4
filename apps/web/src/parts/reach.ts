import { createContext, useCallback, useContext, useEffect, useId, useMemo, useState } from "react";

/** Told by every long text within: `isWhole` once all of it was shown or handed over. */
type TellReach = (id: string, isWhole: boolean) => void;

export const ReachContext = createContext<TellReach>(() => undefined);

export interface Reach {
  readonly tell: TellReach;
  /** Nothing within is still out of a reader's reach. */
  readonly isWhole: boolean;
}

/** Keeps count of the long texts within a card: what nobody could have read whole is not agreed to. */
export function useReach(): Reach {
  const [missing, setMissing] = useState<ReadonlySet<string>>(new Set());
  const tell = useCallback<TellReach>((id, isWhole) => {
    setMissing((before) => {
      if (before.has(id) !== isWhole) return before;
      const next = new Set(before);
      if (isWhole) next.delete(id);
      else next.add(id);
      return next;
    });
  }, []);
  return useMemo(() => ({ tell, isWhole: missing.size === 0 }), [tell, missing]);
}

/** Says of one text within whether all of it has been within reach. */
export function useTellReach(isWhole: boolean): void {
  const tell = useContext(ReachContext);
  const id = useId();
  useEffect(() => {
    tell(id, isWhole);
    return () => tell(id, true);
  }, [tell, id, isWhole]);
}
