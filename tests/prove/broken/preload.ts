import { patchModules } from "./engines.ts";

/** Given to Node with `--import`, and the name of a broken engine behind a question mark: the process is that engine's. */
patchModules(new URL(import.meta.url).search.slice(1));
