/**
 * Orders the test files: the longest first, so that none of them runs alone at the end. Vitest
 * knows durations only where it has run before.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const longestFiles = [
  'end-to-end/package',
  'mirror/sync/interrupted-reading',
  'mirror/core/pagination/every-small-list',
  'worker/job-failures',
  'warehouse/outage',
  'console/screens',
  'mirror/sync/memory',
  'worker/coordination',
  'mirror/sync/combinations-sqlite',
  'mirror/sync/rollups',
  'mirror/sync/request-count',
  'mirror/sync/large-pages',
  'simulator/schedules',
  'simulator/determinism',
  'architecture/checks',
  'app/erase',
  'mcp/tools',
  'mirror/sync/clocks',
  'mirror/verify/audit',
  'analytics/sql/golden',
  'analytics/sql/rebuild',
  'outbox/batch-kill',
  'warehouse/discovered-fields',
  'warehouse/replication',
  'mirror/sync/hostile-rows',
  'worker/webhooks',
  'worker/lifecycle',
  'worker/writebacks',
  'worker/audits',
  'cli/commands',
  'cli/kept-files',
  'outbox/cancel',
  'outbox/throttled-sends',
  'outbox/refused-targets',
  'mirror/sync/passing-faults',
  'mirror/sync/combinations-postgres',
  'mirror/core/pagination/limited-services',
  'end-to-end/sync-kill',
  'outbox/wrong-clocks',
  'outbox/independent-double',
  'mirror/sync/rate-limit',
  'mirror/sync/incomplete-lists',
  'service/rate-limit/processes',
  'service/core/simulation',
  'architecture/long-inputs',
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
