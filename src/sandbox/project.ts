/** One project of the service: its rows, its writes, and its mutations. */

import type { Json } from '../values/json.ts'
import type { EpochMs } from '../values/time.ts'
import { withHostileRows } from './hostile-rows.ts'
import { createMutations, type Mutations } from './mutations.ts'
import { createRandom, purposes } from './random.ts'
import { createRowIds, type SeedOptions } from './seed-context.ts'
import { createSeedData } from './seed-data.ts'
import { createProjectState, type ProjectState } from './state.ts'
import type { Switches } from './switches.ts'
import { createView, type View } from './view.ts'
import { createWireFormat, type WireFormat } from './wire.ts'

export type Project = ReturnType<typeof createProject>

/** A write that the service performed, whether or not its response arrived. Times use the service's clock. */
type LedgerEntry = {
  readonly requestId: string
  readonly operation: string
  readonly params: Readonly<Record<string, string>>
  readonly body: Json
  readonly at: EpochMs
}

export function projectIdFromSeed(seed: number): string {
  return createRowIds(createRandom(seed), purposes.project).idAt(0)
}

export function createProject(id: string, seedOptions: SeedOptions, clock: () => EpochMs, switches: () => Switches) {
  // Created on first use, so that many projects start as fast as one.
  let contentsCache: { readonly state: ProjectState; readonly mutate: Mutations } | undefined
  let displayCache: { readonly for: Switches; readonly wire: WireFormat; readonly view: View } | undefined
  const contents = () => {
    if (contentsCache !== undefined) return contentsCache
    const state = createProjectState(createSeedData(seedOptions, switches()), clock)
    contentsCache = { state, mutate: createMutations(state, switches) }
    return contentsCache
  }
  const display = () => {
    const s = switches()
    if (displayCache?.for === s) return displayCache
    const { state } = contents()
    const wire = withHostileRows(createWireFormat(id, state.seedData.random, s), id, s)
    displayCache = { for: s, wire, view: createView(state, s) }
    return displayCache
  }
  return {
    id,
    ledger: [] as LedgerEntry[],
    /** Recreates the seed data under the current switches. */
    reset() {
      contentsCache = undefined
      displayCache = undefined
    },
    get state() {
      return contents().state
    },
    get mutate() {
      return contents().mutate
    },
    /** Its visible rows and their times, under the current switches. */
    view: () => display().view,
    /** Formats its rows under the current switches. */
    wire: () => display().wire,
  }
}
