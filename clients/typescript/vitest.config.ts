import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/gateway.ts"],
    testTimeout: 60_000,
    hookTimeout: 90_000,
    // Sockets and timers of the tests are real: files side by side would wait for each other's processor.
    maxWorkers: 2,
    dangerouslyIgnoreUnhandledErrors: false,
  },
});
