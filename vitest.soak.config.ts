/** How the long tests run, which are no part of `npm test`: one after the other, with nothing else beside them. */
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/soak/*.soak.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 600_000,
    hookTimeout: 60_000,
  },
})
