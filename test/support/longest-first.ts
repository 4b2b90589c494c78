/**
 * Orders the test files: the longest first, so that none of them runs alone at the end. Vitest
 * knows durations only where it has run before.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const longestFiles = [
  'end-to-end/package',
  'console/screens',
  'mirror/core/pagination/every-small-list',
  'worker/job-failures',
  'warehouse/outage',
  'app/erase',
  'mirror/sync/unreadable-rows',
  'simulator/schedules',
  'mirror/sync/interrupted-reading',
  'warehouse/bounded-query',
  'mcp/tools',
  'mirror/sync/combinations-sqlite',
  'mirror/sync/rollups',
  'worker/lifecycle',
  'mirror/sync/limited-lists',
  'architecture/checks',
  'mirror/sync/memory',
  'console/deciding',
  'cli/console',
  'mirror/sync/deleted-rows',
  'service/core/simulation',
  'mirror/core/pagination/limited-services',
  'mirror/verify/audit',
  'mirror/sync/clocks',
  'mirror/sync/large-pages',
  'worker/webhooks',
  'simulator/determinism',
  'worker/coordination',
  'warehouse/discovered-fields',
  'outbox/batch-kill',
  'imports/parse-lines',
  'cli/read-only-folder',
  'outbox/cancel',
  'app/erase-kill',
  'mirror/sync/request-count',
  'analytics/sql/golden',
  'service/rate-limit/processes',
  'outbox/refused-targets',
  'console/browser',
  'cli/commands',
  'outbox/throttled-sends',
  'analytics/sql/refresh',
  'warehouse/mixed-schema',
  'outbox/guards',
  'warehouse/pooler',
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
