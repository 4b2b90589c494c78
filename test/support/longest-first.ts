/**
 * Orders the test files: the longest first, so that none of them runs alone at the end. Vitest
 * knows durations only where it has run before.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const longestFiles = [
  'end-to-end/monday',
  'console/screens',
  'end-to-end/package',
  'mirror/core/pagination/every-small-list',
  'app/private-columns',
  'warehouse/outage',
  'worker/job-failures',
  'app/erase',
  'simulator/schedules',
  'worker/redis-cluster',
  'jobs/redis-groups',
  'console/live-batch',
  'app/move-kill',
  'export/lake',
  'mcp/tools',
  'app/private-columns-kill',
  'architecture/checks',
  'mirror/sync/limited-lists',
  'mirror/sync/rollups',
  'mirror/verify/audit',
  'mirror/sync/unreadable-rows',
  'mirror/sync/memory',
  'console/browser',
  'simulator/determinism',
  'outbox/refused-targets',
  'app/move',
  'service/core/simulation',
  'cli/console',
  'outbox/throttled-sends',
  'worker/coordination',
  'service/rate-limit/processes',
  'mirror/sync/large-pages',
  'mirror/core/pagination/limited-services',
  'mirror/sync/deleted-rows',
  'worker/lifecycle',
  'mirror/sync/rows-by-id',
  'cli/kept-files',
  'outbox/independent-double',
  'mirror/sync/clocks',
  'app/move-refused',
  'analytics/sql/refresh',
  'cli/commands',
  'outbox/batch-kill',
  'cli/writeback-import',
  'warehouse/bounded-query',
  'warehouse/mixed-schema',
  'mirror/sync/request-count',
  'app/erase-kill',
  'mirror/sync/combinations-sqlite',
  'mirror/sync/interrupted-reading',
  'warehouse/replication',
  'console/deciding',
  'worker/webhooks',
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
