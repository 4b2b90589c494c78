/** Configuration of the long tests, which are not part of `npm test`: they run one after the other. */
import { defineConfig } from 'vitest/config'
import { fastFolder } from './test/support/fast-folder.ts'

export default defineConfig({
  test: {
    include: ['test/soak/*.soak.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    maxWorkers: 1,
    env: { TMPDIR: fastFolder() },
    testTimeout: 600_000,
    hookTimeout: 60_000,
  },
})
