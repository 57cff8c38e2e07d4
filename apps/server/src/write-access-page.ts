import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { renderAccessPage } from "./access-page.ts";

writeFileSync(join(import.meta.dirname, "../../../docs/access.md"), renderAccessPage());
