/**
 * Orders the test files: the longest first, so that none of them runs alone at the end. Vitest knows durations only
 * where it has run before.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const longestFiles = [
  'sync/combinations-sqlite',
  'sync/combinations-postgres',
  'app/worker/coordination',
  'app/worker/job-failures',
  'sync/clocks',
  'end-to-end/sync-kill',
  'app/worker/lifecycle',
  'end-to-end/package',
  'sync/faults',
  'sync/rollup-definitions',
  'app/worker/writebacks',
  'jobs/opening',
  'sync/random-services',
  'app/worker/webhooks',
  'jobs/backends',
  'writeback/cancel',
  'sync/rate-limit',
  'writeback/independent-double',
  'sync/memory',
  'api/rate-limit/processes',
  'cli/writeback',
  'warehouse/sync-runs',
  'sync/rollups',
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
