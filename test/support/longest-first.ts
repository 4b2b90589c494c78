/**
 * Orders the test files: the longest first, so that none of them runs alone at the end. Vitest
 * knows durations only where it has run before.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const longestFiles = [
  'app/private-columns',
  'end-to-end/package',
  'worker/job-failures',
  'end-to-end/monday',
  'app/erase',
  'simulator/schedules',
  'worker/redis-cluster',
  'mirror/sync/limited-lists',
  'mirror/sync/unreadable-rows',
  'worker/audits',
  'mirror/core/pagination/every-small-list',
  'app/move',
  'worker/coordination',
  'warehouse/outage',
  'architecture/checks',
  'mcp/tools',
  'mirror/sync/rollups',
  'jobs/redis-groups',
  'mirror/verify/audit',
  'mirror/sync/clocks',
  'mirror/sync/deleted-rows',
  'outbox/throttled-sends',
  'export/lake',
  'simulator/determinism',
  'outbox/independent-double',
  'console/screens',
  'mirror/sync/incomplete-lists',
  'console/live-batch',
  'cli/commands',
  'mirror/core/pagination/limited-services',
  'warehouse/discovered-fields',
  'service/core/simulation',
  'worker/webhooks',
  'app/erase-project',
  'app/move-refused',
  'cli/console',
  'app/private-columns-kill',
  'mirror/sync/rows-by-id',
  'mirror/sync/request-count',
  'worker/lifecycle',
  'worker/lakes',
  'console/browser',
  'outbox/refused-targets',
  'mirror/sync/memory',
  'outbox/odd-answers',
  'cli/kept-files',
  'architecture/long-inputs',
  'outbox/faults',
  'cli/review-marks',
  'mirror/sync/large-pages',
  'cli/read-only-folder',
  'analytics/sql/refresh',
  'mirror/sync/interrupted-reading',
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
