import type { Tx } from "@countersign/db/connect.ts";
import { transaction } from "@countersign/db/transaction.ts";
import { editNode } from "@countersign/kb/edit-node.ts";
import { expandDirectory } from "@countersign/kb/expand-directory.ts";
import { findNode } from "@countersign/kb/find-node.ts";
import { grepNodes } from "@countersign/kb/grep-nodes.ts";
import { writeFragment } from "@countersign/kb/node-fragment.ts";
import { removeNode } from "@countersign/kb/remove-node.ts";
import { searchByAll } from "@countersign/kb/search-pages.ts";
import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import { requireRole } from "../auth.ts";
import type { AppEnv, ServerDependencies } from "../context.ts";
import { readVersion } from "../if-match.ts";
import { mayNotChange, noNode, showEdit, writerOf } from "../page-actor.ts";
import { invalidField, Problem } from "../problem.ts";
import { answers, idParam, jsonBody } from "../shapes/common.ts";
import {
  directory,
  type Edited,
  editedSchema,
  grepSchema,
  hitKinds,
  levelSchema,
  nodeSchema,
  okfBody,
  searchSchema,
  searchWords,
} from "../shapes/pages.ts";

const search = createRoute({
  method: "get",
  path: "/search",
  summary: "The ten best hits in the knowledge base, by name, by text and, where that is set up, by meaning",
  request: {
    query: z.object({
      q: searchWords,
      kinds: z
        .string()
        .max(100)
        .optional()
        .openapi({ description: `Only these, separated by commas: ${hitKinds.join(", ")}` }),
    }),
  },
  responses: answers("The hits, the best first", searchSchema),
});

const grep = createRoute({
  method: "get",
  path: "/grep",
  summary: "Every node that holds a text or matches an expression, and how many there are",
  request: {
    query: z.object({
      pattern: z.string().min(1).max(1_000),
      regex: z.enum(["true", "false"]).default("false"),
      limit: z.coerce.number().int().min(1).max(500).default(100),
    }),
  },
  responses: answers("The matches", grepSchema),
});

const expand = createRoute({
  method: "get",
  path: "/directories",
  summary: "One level of the directories of the knowledge base, and the pages in it",
  request: { query: z.object({ dir: directory.default("") }) },
  responses: answers("The directory", levelSchema),
});

const getNode = createRoute({
  method: "get",
  path: "/nodes/{id}",
  summary: "A node of a page with all that is below it; the revision of its page as ETag",
  request: { params: idParam },
  responses: answers("The node", nodeSchema),
});

const putNode = createRoute({
  method: "put",
  path: "/nodes/{id}",
  summary: "Change a node with all that is below it",
  request: {
    params: idParam,
    headers: z.object({
      "if-match": z.string().optional().openapi({ description: '`"<revision>"` of its page; required' }),
    }),
    body: jsonBody(okfBody),
  },
  responses: answers("What has changed", editedSchema),
});

const deleteNode = createRoute({
  method: "delete",
  path: "/nodes/{id}",
  summary: "Remove a node with all that is below it; undoing the command brings it back",
  request: { params: idParam },
  responses: answers("The node is removed", editedSchema),
});

/** Finding things in the knowledge base, and its nodes one by one. */
export function createKnowledgeRoutes({ sql, questions }: ServerDependencies) {
  return new OpenAPIHono<AppEnv>()
    .openapi(search, async (c) => {
      const { q, kinds: asked } = c.req.valid("query");
      const kinds = asked?.split(",").map((kind) => {
        const known = hitKinds.find((name) => name === kind.trim());
        if (known === undefined) throw invalidField("query.kinds", `there are ${hitKinds.join(", ")}`);
        return known;
      });
      const { workspaceId, userId } = c.get("actor");
      const read = <T>(body: (tx: Tx) => Promise<T>) => transaction(sql, body, { isReadOnly: true });
      const result = await searchByAll({ workspaceId, userId, read, questions }, { q, kinds });
      if (result.kind === "refused") throw invalidField("query.q", result.reason);
      const hits = result.hits.map((hit) => ({ ...hit, lists: [...hit.lists] }));
      return c.json({ hits, leftOut: [...result.leftOut] }, 200);
    })
    .openapi(grep, async (c) => {
      const { pattern, regex, limit } = c.req.valid("query");
      const query = { pattern, regex: regex === "true", limit };
      const result = await transaction(sql, (tx) => grepNodes(writerOf(c.get("actor"), tx), query), {
        isReadOnly: true,
      });
      if (result.kind === "refused") throw invalidField("query.pattern", result.reason);
      if (result.kind === "timeout") {
        throw new Problem(
          "unfit_pattern",
          "The search took longer than 1 s and was stopped. Use a longer or simpler pattern.",
        );
      }
      return c.json({ matches: [...result.matches], total: result.total }, 200);
    })
    .openapi(expand, async (c) => {
      const { dir } = c.req.valid("query");
      const level = await transaction(sql, (tx) => expandDirectory(writerOf(c.get("actor"), tx), dir), {
        isReadOnly: true,
      });
      if (level === undefined)
        throw new Problem("not_found", `There is no directory ${JSON.stringify(dir)} in this workspace.`);
      return c.json({ ...level, dirs: [...level.dirs], pages: [...level.pages] }, 200);
    })
    .openapi(getNode, async (c) => {
      const { id } = c.req.valid("param");
      const found = await transaction(sql, (tx) => findNode(writerOf(c.get("actor"), tx), id), {
        isReadOnly: true,
      });
      if (found === undefined) throw noNode(id);
      const { page, node, subtree } = found;
      c.header("ETag", `"${page.revision}"`);
      const okf = writeFragment(page.nodes, subtree, true);
      return c.json(
        { id: node.id, pageId: page.id, revision: page.revision, kind: node.kind, text: node.text, okf },
        200,
      );
    })
    .openapi(putNode, async (c) => {
      const actor = c.get("actor");
      requireRole(actor, "operator", "Changing a node");
      const { id } = c.req.valid("param");
      const ifMatch = c.req.valid("header")["if-match"];
      if (ifMatch === undefined) {
        throw new Problem(
          "precondition_required",
          `A change says which revision it was made on: send the header If-Match with the ETag of GET /v1/nodes/${id}.`,
        );
      }
      const revision = readVersion(ifMatch);
      const { okf } = c.req.valid("json");
      const edited = await transaction(sql, async (tx) => {
        const result = await editNode(writerOf(actor, tx), { nodeId: id, okf, revision });
        if (result.kind === "missing") throw noNode(id);
        return showEdit(result);
      });
      return c.json(edited, 200);
    })
    .openapi(deleteNode, async (c) => {
      const actor = c.get("actor");
      requireRole(actor, "operator", "Removing a node");
      const { id } = c.req.valid("param");
      const removed = await transaction(sql, async (tx): Promise<Edited> => {
        const result = await removeNode(writerOf(actor, tx), id);
        if (result.kind === "forbidden") throw mayNotChange(id);
        if (result.kind === "refused") throw new Problem("unfit_page", result.reason);
        if (result.kind !== "removed") throw noNode(id);
        const { page, commandId, nodeCount } = result;
        return {
          outcome: "removed",
          pageId: page.id,
          revision: page.revision,
          commandId,
          isMerged: false,
          added: 0,
          changed: 0,
          removed: nodeCount,
          renamedLinks: 0,
          warnings: [],
        };
      });
      return c.json(removed, 200);
    });
}
