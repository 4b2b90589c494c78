/** How the tests run: one process a file, and a Postgres of their own for as long as they last. */
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/servers.ts'],
    pool: 'forks',
    // One more than the cores that are promised: many tests wait for processes and servers.
    maxWorkers: 3,
    // Starting PGlite or a random world on a busy machine takes its time; no test measures time.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
