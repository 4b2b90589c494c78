/**
 * Orders the test files: the longest first, so that none of them runs alone at the end. Vitest
 * knows durations only where it has run before.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const longestFiles = [
  'mirror/sync/interrupted-reading',
  'outbox/batch-kill',
  'simulator/schedules',
  'mirror/sync/combinations-sqlite',
  'mirror/core/pagination/every-small-list',
  'end-to-end/package',
  'worker/job-failures',
  'mirror/sync/rollups',
  'service/rate-limit/processes',
  'mirror/sync/memory',
  'mirror/sync/clocks',
  'imports/parse-lines',
  'analytics/core/golden',
  'mirror/sync/hostile-rows',
  'simulator/determinism',
  'architecture/checks',
  'architecture/ordinary-changes',
  'worker/writebacks',
  'mirror/sync/combinations-postgres',
  'mirror/sync/rate-limit',
  'mirror/sync/faults',
  'mirror/sync/activity-identity',
  'outbox/stopped',
  'outbox/faults',
  'worker/lifecycle',
  'worker/coordination',
  'end-to-end/sync-kill',
  'mirror/sync/rollup-question',
  'mirror/sync/passing-faults',
  'warehouse/outage',
  'warehouse/discovered-fields',
  'console/screens',
  'worker/shared-queue',
  'analytics/sql/rebuild',
  'cli/export',
  'cli/commands',
  'outbox/match-reply',
  'imports/two-imports',
  'console/routes/serving',
  'outbox/cancel',
  'analytics/sql/refresh',
  'service/core/simulation',
]

const folder = join(import.meta.dirname, '..')
const fileOf = (name: string) => join(folder, `${name}.test.ts`)

export class LongestFirstSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const missing = longestFiles.filter((name) => !existsSync(fileOf(name)))
    if (missing.length > 0)
      throw new Error(`${import.meta.filename} names files that do not exist: ${missing}`)
    const ranks = new Map(longestFiles.map((name, rank) => [fileOf(name), rank]))
    const rank = ({ moduleId }: TestSpecification) => ranks.get(moduleId) ?? longestFiles.length
    const sorted = await super.sort(files)
    return sorted.toSorted((a, b) => rank(a) - rank(b))
  }
}
