/**
 * The order of the test files: the longest first, so that none of them runs alone at the end. Vitest knows by itself only
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
    const usual = await super.sort(files)
    return usual.toSorted((one, other) => rank(one) - rank(other))
  }
}

function rank({ moduleId }: TestSpecification): number {
  const found = longestFiles.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`))
  return found === -1 ? longestFiles.length : found
}
