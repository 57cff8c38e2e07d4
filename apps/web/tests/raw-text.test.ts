import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync } from "vite";
import { expect, test } from "vitest";

const source = join(import.meta.dirname, "../src");

/** Names of what agents, tools, people or the server said. */
const others = new Set(
  "agent answer args by capability context defaultAnswer definition definitionText detail details disabledReason email endReason label message name narration note output question reason settlement startedBy text title tool url warning warnings which".split(
    " ",
  ),
);

/** Of these the texts are ours. */
const ours = new Set(["words", "names", "columns", "section"]);

/** Where a name is of our own words, or was made visible where it came from. */
const known = new Set([
  ...["run/call-node", "card/afterwards", "card/facts", "card/receipt", "admin/audit-check"].map(
    (file) => `${file}.tsx {name}`,
  ),
  ...["parts/fields", "card/call-body", "card/diff", "card/say-more", "admin/dial-dialog", "admin/seen-change"].map(
    (file) => `${file}.tsx {label}`,
  ),
  ...["parts/dialog", "parts/states", "kb/page-view", "admin/section"].map((file) => `${file}.tsx {title}`),
  "kb/page-view.tsx {name}",
  "card/call-body.tsx {words.card.asLines(name)}",
  "card/decide.tsx {decision.isPending && n === 0 ? words.card.sending : name}",
  "parts/announce.tsx {now.text}",
  "parts/exact-text.tsx {piece.text}",
  "parts/markdown.tsx {span.url}",
  "parts/markdown.tsx {new URL(url).host || url}",
  "admin/tool-modes.tsx {control(kind, name, `${names.groups[kind]} ${name}`, ownOf(target, name))}",
  'admin/tool-modes.tsx {control("tools", name, name, ownOf("tool", name))}',
]);

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && "type" in value;

const childrenOf = (node: Node): Node[] =>
  Object.values(node).flatMap((value) => (Array.isArray(value) ? value : [value]).filter(isNode));

/** The first object of `a.b.c`. */
function rootOf(node: Node): Node {
  return node.type === "MemberExpression" && isNode(node["object"]) ? rootOf(node["object"]) : node;
}

/** True where an expression gives others' text to the page as it is: not through a part that makes all of it visible. */
function holdsOthers(node: Node): boolean {
  if (node.type === "JSXElement" || node.type === "JSXFragment") return false;
  if (node.type === "MemberExpression") {
    const root = rootOf(node);
    const property = node["property"] as Node;
    if (root.type === "Identifier" && ours.has(String(root["name"]))) return false;
    return others.has(String(property["name"]));
  }
  if (node.type === "Identifier") return others.has(String(node["name"]));
  if (node.type === "CallExpression") {
    const callee = node["callee"] as Node;
    if (callee.type === "Identifier" && callee["name"] === "visibleText") return false;
    return (node["arguments"] as Node[]).some((one) => holdsOthers(one));
  }
  if (node.type === "ArrowFunctionExpression") return holdsOthers(node["body"] as Node);
  if (node.type === "ConditionalExpression")
    return holdsOthers(node["consequent"] as Node) || holdsOthers(node["alternate"] as Node);
  if (node.type === "LogicalExpression" && node["operator"] === "&&") return holdsOthers(node["right"] as Node);
  if (node.type === "BinaryExpression" && /[=<>]/.test(String(node["operator"]))) return false;
  return childrenOf(node).some((one) => holdsOthers(one));
}

const attributes = new Set(["aria-label", "title", "placeholder", "alt", "label"]);

/** The expressions of a file that put others' text into the page's elements, or into what is read aloud of them. */
function rawIn(text: string): string[] {
  const found: string[] = [];
  const look = (node: Node): void => {
    for (const child of childrenOf(node)) {
      const isChild = child.type === "JSXExpressionContainer" && node.type !== "JSXAttribute";
      const isAloud =
        node.type === "JSXAttribute" &&
        child.type === "JSXExpressionContainer" &&
        attributes.has(String((node["name"] as Node)["name"]));
      if ((isChild || isAloud) && holdsOthers(child["expression"] as Node))
        found.push(text.slice(child.start, child.end));
      look(child);
    }
  };
  look(parseSync("a.tsx", text).program as unknown as Node);
  return found;
}

test("the finder finds what is given raw, and nothing that is made visible or ours", () => {
  const raw = [
    "{user.name}",
    "{words.by(user.name)}",
    "{error.message}",
    "{a ?? task.title}",
    "{`${tool}!`}",
    "{n > 0 && label}",
  ];
  for (const one of raw) expect(rawIn(`const a = <p>{n} ${one}</p>;`)).toEqual([one]);
  expect(rawIn("const a = <p title={user.name} aria-label={`${names.role}: ${user.name}`} />;")).toHaveLength(2);
  const fine = [
    "{names.title}",
    "<ExactLine text={user.name} />",
    "{visibleText(user.name)}",
    "{a && <B text={name} />}",
    "{name === 'x' && 1}",
  ];
  for (const one of fine) expect(rawIn(`const a = <p>${one}</p>;`)).toEqual([]);
});

test("others' text is on no page but through what makes all of it visible", () => {
  const found = globSync("**/*.tsx", { cwd: source }).flatMap((file) =>
    rawIn(readFileSync(join(source, file), "utf8")).map((one) => `${file} ${one}`),
  );
  expect(found.filter((one) => !known.has(one))).toEqual([]);
});
