import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { listFiles, readText, repositoryRoot } from "./support/repository.ts";

const files = listFiles();
const sources = files.filter((path) => /^(apps|packages|tests)\/.*\.tsx?$/.test(path));
const program = sources.filter((path) => !/\.test\.tsx?$|\/testing\/|^tests\//.test(path));
const pages = files.filter((path) => path.endsWith(".md"));
const isText = (path: string) => !/\.(png|ico|woff2|svg|zip|gz)$/.test(path);

/** The files among `paths` whose text matches, with the first match. */
function matchesOf(paths: readonly string[], pattern: RegExp): string[] {
  return paths.flatMap((path) => {
    const found = pattern.exec(readText(path));
    return found === null ? [] : [`${path}: ${found[0]}`];
  });
}

describe("code", () => {
  test("no room loads another one, or a file far away, by a path that the linter cannot see", () => {
    expect(matchesOf(program, /\bimport\(\s*["'`](?:@countersign\/|(?:\.\.\/){2,})[^)]*/)).toEqual([]);
    expect(matchesOf(sources, /from "(?:\.\.\/)+(?:packages|apps)\/[^"]*"/)).toEqual([]);
  });

  test("nothing silences the compiler or the linter", () => {
    expect(matchesOf(sources, /(?:ox|es)lint-disable|@ts-(?:ignore|nocheck|expect-error)/)).toEqual([]);
  });

  test("no test is skipped, retried or alone", () => {
    const tests = sources.filter((path) => path.endsWith(".test.ts"));
    expect(matchesOf(tests, /\b(?:test|it|describe)\.(?:only|skip|todo|fails)\b|\bretry: [1-9]/)).toEqual([]);
  });

  test("files are named in kebab-case", () => {
    const named = sources.concat(
      files.filter((path) => path.startsWith("packages/engine/src/") && path.endsWith(".sql")),
    );
    const names = named.map((path) => path.slice(path.lastIndexOf("/") + 1));
    expect(names.filter((name) => !/^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z]+)+$/.test(name))).toEqual([]);
  });
});

describe("commits", () => {
  const folder = "packages/engine/src/commits/";
  const commits = files.filter((path) => path.startsWith(folder) && path.endsWith(".sql"));

  test("each is a pair: a SQL function, and the TypeScript of the same name that types and calls it", () => {
    const callers = files.filter((path) => path.startsWith(folder) && /^[^.]+\.ts$/.test(path.slice(folder.length)));
    expect(callers.map((path) => path.replace(/\.ts$/, ".sql"))).toEqual(commits);
  });

  test.each(commits)("%s opens with what it does and creates the function that it is named after", (path) => {
    const text = readText(path);
    expect(text).toMatch(/^-- /);
    const created = text.match(/create or replace function (\w+)/)?.[1];
    expect(created?.replaceAll("_", "-")).toBe(path.slice(folder.length, -".sql".length));
  });

  test("nothing else in the program writes the tables of runs", () => {
    const tables = "runs|run_log|tool_calls|steers|approvals|questions|late_results|capability_leases";
    const writes = new RegExp(`\\b(?:insert into|delete from|update)\\s+(?:${tables})\\b`, "i");
    expect(matchesOf(program, writes)).toEqual([]);
  });
});

describe("policy", () => {
  test("AZ60: nothing but commits writes rules and switches, so no tool can: they are not files that one could be aimed at", () => {
    const writes = /\b(?:insert into|delete from|update)\s+(?:rules|tool_switches|tool_pins|policy_changes)\b/i;
    expect(matchesOf(program, writes)).toEqual([]);
    const sql = files.filter((path) => path.endsWith(".sql") && !path.startsWith("migrations/"));
    expect(matchesOf(sql, writes).filter((found) => !found.startsWith("packages/engine/src/"))).toEqual([]);
  });
});

describe("what is committed", () => {
  test("names neither this copy's folder nor anybody's home", () => {
    const home = homedir();
    const texts = files.filter(isText).map((path) => ({ path, text: readText(path) }));
    expect(texts.filter(({ text }) => text.includes(`${repositoryRoot}/`)).map(({ path }) => path)).toEqual([]);
    expect(texts.filter(({ text }) => text.includes(`${home}/`)).map(({ path }) => path)).toEqual([]);
  });

  test("names no package registry, so an installation asks the one that it is configured for", () => {
    expect(matchesOf(["package-lock.json"], /"resolved": "http[^"]*"/)).toEqual([]);
    expect(matchesOf([".npmrc"], /^.*registry\s*=.*$/m)).toEqual([]);
  });

  test("has an image into which every workspace's manifest goes before the installation", () => {
    const manifests = files.filter((path) => /^(?:apps|packages)\/[^/]+\/package\.json$/.test(path));
    const dockerfile = readText("Dockerfile");
    expect(manifests.filter((path) => !dockerfile.includes(`COPY ${path} ${dirname(path)}/\n`))).toEqual([]);
  });

  test("pins every dependency to one version", () => {
    const manifests = files.filter((path) => /(?:^|\/)package\.json$/.test(path));
    const ranges = manifests.flatMap((path) => {
      const manifest = JSON.parse(readText(path)) as Record<string, Record<string, string> | undefined>;
      return ["dependencies", "devDependencies", "optionalDependencies"].flatMap((kind) =>
        Object.entries(manifest[kind] ?? {}).filter(([, version]) => !/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version)),
      );
    });
    expect(ranges).toEqual([]);
  });
});

describe("documents", () => {
  const linesOf = (path: string) => readText(path).split("\n").length - 1;

  test("are short enough to be read", () => {
    expect(linesOf("AGENTS.md")).toBeLessThan(80);
    expect(linesOf("README.md")).toBeLessThan(200);
    const decisions = pages.filter((path) => path.startsWith("docs/decisions/"));
    expect(decisions.filter((path) => linesOf(path) > 60)).toEqual([]);
  });

  test.each(pages)("every file that %s links to exists", (page) => {
    const targets = [...readText(page).matchAll(/\]\((?!https?:|mailto:|#)([^)#\s]+)[^)]*\)/g)].map(
      (found) => found[1] ?? "",
    );
    expect(targets.filter((target) => !existsSync(join(repositoryRoot, dirname(page), target)))).toEqual([]);
  });

  test.each(pages)("every path that %s names exists", (page) => {
    const named = [...readText(page).matchAll(/`((?:apps|docs|migrations|packages|tests)\/[\w./-]+)`/g)];
    expect(named.map((found) => found[1] ?? "").filter((path) => !existsSync(join(repositoryRoot, path)))).toEqual([]);
  });

  test("every decision is dated", () => {
    const decisions = pages.filter((path) => path.startsWith("docs/decisions/"));
    expect(decisions.length).toBeGreaterThan(0);
    expect(decisions.filter((path) => !/^Decided on \d{4}-\d\d-\d\d\./m.test(readText(path)))).toEqual([]);
  });
});
