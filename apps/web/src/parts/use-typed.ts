import { useState } from "react";

/** What is typed into a field that says what the address says: it follows the address, as after Back, and stays where it is. */
export function useTyped(said: string): readonly [string, (typed: string) => void] {
  const [state, setState] = useState({ said, typed: said });
  if (state.said !== said) setState({ said, typed: said });
  return [state.said === said ? state.typed : said, (typed) => setState({ said, typed })];
}
