import { type ComponentType, useEffect, useState } from "react";
import { Failure, Waiting } from "./states.tsx";

interface Loaded<P> {
  readonly Found?: ComponentType<P>;
  readonly error?: Error;
}

/**
 * A component whose code comes when it is first shown, and at once from then on; what cannot be fetched says so. React's own
 * `lazy` holds back what came for up to 300 ms after it showed that it waits.
 */
export function later<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let Known: ComponentType<P> | undefined;

  return function Later(props: P) {
    const [{ Found, error }, setLoaded] = useState<Loaded<P>>(() => (Known === undefined ? {} : { Found: Known }));
    const isMissing = Found === undefined && error === undefined;

    useEffect(() => {
      if (!isMissing) return;
      let isGone = false;
      void load()
        .then(
          (found): Loaded<P> => ({ Found: (Known = found) }),
          (cause: unknown): Loaded<P> => ({ error: cause instanceof Error ? cause : new Error(String(cause)) }),
        )
        .then((loaded) => {
          if (!isGone) setLoaded(loaded);
        });
      return () => {
        isGone = true;
      };
    }, [isMissing]);

    if (error !== undefined) return <Failure error={error} onRetry={() => setLoaded({})} />;
    return Found === undefined ? <Waiting /> : <Found {...props} />;
  };
}
