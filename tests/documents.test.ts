import { readPolicyDocument } from "@countersign/gate/policy-document.ts";
import { parseDefinition } from "@countersign/engine/definition.ts";
import { registerTools } from "@countersign/engine/tools.ts";
import { createCatalog } from "@countersign/tools/catalog.ts";
import { expect, test } from "vitest";
import { listFiles, readText } from "./support/repository.ts";

const tools = registerTools(createCatalog({ osExec: { user: "same", environment: {} } }));

/** The JSON examples of a page. */
function examplesOf(page: string): string[] {
  return [...readText(page).matchAll(/^```json\n([^]*?)^```/gm)].map((found) => found[1] ?? "");
}

test("the definitions that the documents show are taken as they stand", () => {
  const definitions = examplesOf("docs/definitions.md").map((text) => JSON.parse(text) as object);
  const approvers = examplesOf("docs/approvals.md").map((text) => JSON.parse(text) as object);
  expect([definitions.length, approvers.length]).toEqual([1, 1]);
  for (const part of [...definitions, ...approvers])
    expect(parseDefinition({ name: "clerk", model: "claude", toolset: [], ...part }, tools)).toMatchObject(part);
});

test("the policy file that the documents show is a workspace's", () => {
  const known = { tools: [...tools.values()].map(({ tool }) => tool) };
  const read = examplesOf("docs/authorization.md").map((text) => readPolicyDocument(text, known, "workspace"));
  expect(read.map(({ kind }) => kind)).toEqual(["layer"]);
});

test("the built-in tools that the documents list are those of the catalog, with their effects and whether they ask", () => {
  const listed = readText("docs/tools.md").matchAll(/^\| `([\w.]+)` \| [^|]+ \| ([\w-]+) \| (no|yes|always) \|$/gm);
  const catalog = [...tools.values()].map(({ tool: { name, effect, needsApproval = false, alwaysGate = false } }) => {
    const asks = needsApproval === true ? "yes" : "no";
    return [name, effect, alwaysGate ? "always" : asks];
  });
  expect([...listed].map(([, ...cells]) => cells)).toEqual(catalog);
});

const pages = listFiles().filter((path) => path.endsWith(".md"));

test.each(pages)("every place that %s links to in a page is a heading there", (page) => {
  const links = [...readText(page).matchAll(/\]\(((?!https?:)[^)#\s]*)#([^)\s]+)\)/g)];
  const missing = links.filter(([, path = "", anchor = ""]) => {
    const target = path === "" ? page : new URL(path, `file:///${page}`).pathname.slice(1);
    return !anchorsOf(target).includes(anchor);
  });
  expect(missing.map(([link]) => link)).toEqual([]);
});

/** What GitHub calls the headings of a page. */
function anchorsOf(page: string): string[] {
  return [...readText(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );
}
