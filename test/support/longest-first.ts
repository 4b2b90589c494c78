/**
 * The order of the test files: the longest first, so that none of them runs alone at the end. Vitest knows by itself only
 * where it has run before.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const longest = [
  'mirror/unknowns-sqlite',
  'worker/work',
  'worker/webhooks',
  'mirror/worlds',
  'mirror/unknowns-postgres',
  'worker/life',
  'mirror/kill',
  'house/package',
  'worker/writebacks',
  'mirror/faults',
  'writeback/stopped',
  'mirror/requests',
  'cli/writeback',
  'mirror/rate',
  'jobs/opening',
  'warehouse/runs',
  'jobs/backends',
  'budget/processes',
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
