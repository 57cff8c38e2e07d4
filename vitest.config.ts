import { defaultExclude, defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    // Also those of tools that somebody keeps in a folder of their own.
    include: ["*/**/*.test.ts"],
    exclude: [...defaultExclude, ".*/**"],
    globalSetup: ["tests/global-setup.ts"],
    pool: "forks",
    maxWorkers: 3,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
