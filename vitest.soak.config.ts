/**
 * Configuration of the long tests, which are not part of `npm test`: they run one after the other.
 * Files of which `npm test` runs a sample run with all their cases.
 */
import { globSync, readFileSync } from 'node:fs'
import { defineConfig } from 'vitest/config'
import { fastFolder } from './test/support/fast-folder.ts'

const isSampled = (file: string) => readFileSync(file, 'utf8').includes('/support/sampled.ts')
const sampledFiles = globSync('test/**/*.test.ts', { cwd: import.meta.dirname }).filter(isSampled)

export default defineConfig({
  test: {
    include: ['test/soak/*.soak.ts', ...sampledFiles],
    provide: { runsAllCases: true },
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    // Node.js runs the sources as it runs the program: without Vite, which would reach every import
    // through an object.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    maxWorkers: 1,
    env: { TMPDIR: fastFolder() },
    testTimeout: 600_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 120_000 } },
  },
})
