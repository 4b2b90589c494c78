/**
 * Orders the test files: the longest first, so that none of them runs alone at the end. Vitest knows durations only
 * where it has run before.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const longestFiles = [
  'app/worker/job-failures',
  'sync/interrupted-reading',
  'simulator/schedules',
  'sync/combinations-sqlite',
  'sync/rollups',
  'end-to-end/package',
  'sync/clocks',
  'core/pagination/every-small-list',
  'simulator/determinism',
  'sync/memory',
  'api/rate-limit/processes',
  'architecture/checks',
  'app/worker/coordination',
  'writeback/cancel',
  'cli/commands',
  'writeback/batch-kill',
  'writeback/import/parse-lines',
  'console/screens',
  'app/worker/lifecycle',
  'end-to-end/sync-kill',
  'warehouse/analytics/rebuild',
  'sync/combinations-postgres',
  'warehouse/analytics/grant',
  'warehouse/discovered-fields',
  'core/rate-limit/simulation',
  'writeback/restored-backup',
  'sync/activity-identity',
  'verify/audit',
  'warehouse/outage',
  'sync/passing-faults',
  'writeback/import/spreadsheets/spreadsheets',
  'cli/console',
  'writeback/guards',
  'sync/hostile-rows',
  'app/worker/writebacks',
  'app/worker/webhooks',
  'writeback/stopped',
  'writeback/faults',
  'sync/faults',
  'sync/rate-limit',
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
