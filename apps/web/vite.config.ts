import { defineConfig } from "vite";

interface Graph {
  getModuleInfo(id: string): { readonly isEntry: boolean; readonly importers: readonly string[] } | null;
}

/** True of what the first page cannot do without: the entry reaches it by imports that are not put off. */
function isOfFirstPage(id: string, graph: Graph, seen = new Set<string>()): boolean {
  if (seen.has(id)) return false;
  seen.add(id);
  const module = graph.getModuleInfo(id);
  return (
    module !== null && (module.isEntry || module.importers.some((importer) => isOfFirstPage(importer, graph, seen)))
  );
}

export default defineConfig({
  // Whatever process builds them, such as that of the tests, the pages are those that people get.
  define: { "process.env.NODE_ENV": '"production"' },
  oxc: { jsx: { runtime: "automatic", development: false } },
  // No inline anything: the content policy of the pages allows none.
  build: {
    target: "es2023",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      onwarn(warning, report) {
        // "use client" marks of libraries, which mean nothing where all is a client.
        if (warning.code !== "MODULE_LEVEL_DIRECTIVE") report(warning);
      },
      // In one piece, whichever of the later pages share what of it: each piece more is a request before the first card.
      output: {
        codeSplitting: {
          groups: [{ debugName: "the first page", name: (id, graph) => (isOfFirstPage(id, graph) ? "first" : null) }],
        },
      },
    },
  },
  worker: { format: "es" },
});
