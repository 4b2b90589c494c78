/**
 * How the tests run: in a few processes, and with a Postgres of their own for as long as they last.
 */
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { compileCache } from './test/support/compile-once.ts'
import { fastFolder } from './test/support/fast-folder.ts'
import { LongestFirstSequencer } from './test/support/longest-first.ts'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    provide: { runsAllCases: false },
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    // Node.js runs the sources as it runs the program: without Vite, which would reach every import
    // through an object.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // A new process and its modules for each of two hundred files would take a tenth of the
    // processor's time. Files do not rely on it: what they change in their process they change
    // back.
    isolate: false,
    // Three times the cores, as many tests wait for processes, servers and the disk.
    maxWorkers: Math.min(12, 3 * availableParallelism()),
    sequence: { sequencer: LongestFirstSequencer },
    // Processes that the tests start need not compile anew what others have compiled: that is most
    // of a short one's work.
    env: { NODE_COMPILE_CACHE: compileCache, TMPDIR: fastFolder() },
    // No test measures time, and on a busy machine one that starts many processes takes ten times
    // as long.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 120_000 } },
  },
})
