/**
 * The order of the test files: the longest first, so that none of them runs alone at the end. Vitest knows by itself only
 * where it has run before.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const longest = [
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

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const usual = await super.sort(files)
    return usual.toSorted((one, other) => place(one) - place(other))
  }
}

function place({ moduleId }: TestSpecification): number {
  const found = longest.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`))
  return found === -1 ? longest.length : found
}
