/**
 * The order of the test files: the longest first, so that none of them runs alone at the end. Vitest knows by itself only
 * where it has run before.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const longestFiles = [
  'mirror/unknowns-sqlite',
  'mirror/unknowns-postgres',
  'worker/work',
  'worker/failures',
  'mirror/clocks',
  'mirror/kill',
  'worker/life',
  'house/package',
  'mirror/faults',
  'worker/writebacks',
  'jobs/opening',
  'mirror/worlds',
  'worker/webhooks',
  'jobs/backends',
  'writeback/cancel',
  'mirror/rate',
  'writeback/stranger',
  'mirror/memory',
  'budget/processes',
  'cli/writeback',
  'warehouse/runs',
  'mirror/rollups',
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
