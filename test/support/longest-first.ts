/**
 * Orders the test files: the longest first, so that none of them runs alone at the end. Vitest knows durations only
 * where it has run before.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const longestFiles = [
  'app/worker/job-failures',
  'sync/combinations-sqlite',
  'app/worker/lifecycle',
  'warehouse/outage',
  'end-to-end/package',
  'app/worker/coordination',
  'sync/memory',
  'sync/rollups',
  'writeback/faults',
  'writeback/stopped',
  'simulator/schedules',
  'console/screens',
  'cli/commands',
  'jobs/backends',
  'app/worker/writebacks',
  'jobs/opening',
  'warehouse/analytics/rebuild',
  'sync/faults',
  'end-to-end/sync-kill',
  'warehouse/analytics/grant',
  'sync/rate-limit',
  'api/rate-limit/processes',
  'writeback/match-reply',
  'sync/clocks',
  'writeback/wrong-clocks',
  'writeback/guards',
  'writeback/independent-double',
  'app/worker/webhooks',
  'writeback/cancel',
  'sync/request-count',
  'http/console/decisions',
  'writeback/review-outcome',
  'writeback/odd-answers',
  'warehouse/analytics/golden',
  'architecture/checks',
  'sync/combinations-postgres',
]

export class LongestFirstSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return sorted.toSorted((a, b) => rank(a) - rank(b))
  }
}

function rank({ moduleId }: TestSpecification): number {
  const index = longestFiles.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`))
  return index === -1 ? longestFiles.length : index
}
