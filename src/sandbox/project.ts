/** One project of the service: its rows, its writes, and its mutations. */

import type { Json } from '../values/json.ts'
import type { EpochMs } from '../values/time.ts'
import { createMutations } from './mutations.ts'
import { createRandom, purposes } from './random.ts'
import { createRowIds, type SeedOptions } from './seed-context.ts'
import { createSeedData } from './seed-data.ts'
import { createProjectState } from './state.ts'
import type { Switches } from './switches.ts'
import { createView, type View } from './view.ts'

export type Project = ReturnType<typeof createProject>

/** A write that the service performed, whether or not its response arrived. Times use the service's clock. */
type LedgerEntry = {
  readonly requestId: string
  readonly operation: string
  readonly params: Readonly<Record<string, string | undefined>>
  readonly body: Json
  readonly at: EpochMs
}

export function projectIdFromSeed(seed: number): string {
  return createRowIds(createRandom(seed), purposes.project).idAt(0)
}

export function createProject(id: string, seedOptions: SeedOptions, clock: () => EpochMs, switches: () => Switches) {
  const createContents = () => {
    const state = createProjectState(createSeedData(seedOptions, switches()), clock)
    return { state, mutate: createMutations(state, switches) }
  }
  // Created on first use, so that many projects start as fast as one.
  let contents: ReturnType<typeof createContents> | undefined
  let shown: { readonly under: Switches; readonly view: View } | undefined
  const project = {
    id,
    ledger: [] as LedgerEntry[],
    /** Recreates the seed data under the current switches. */
    reset() {
      contents = undefined
      shown = undefined
    },
    get state() {
      contents ??= createContents()
      return contents.state
    },
    get mutate() {
      contents ??= createContents()
      return contents.mutate
    },
    /** Its visible rows, in the service's format, under the current switches. */
    view: (): View => {
      const s = switches()
      if (shown?.under !== s) shown = { under: s, view: createView(id, project.state, s) }
      return shown.view
    },
  }
  return project
}
