import { defineConfig } from "vite";

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
    },
  },
  worker: { format: "es" },
});
