/** One project of the service: its rows, its writes, and its mutations. */

import type { Json } from '../core/row.ts'
import type { EpochMs } from '../core/time.ts'
import { withHostileRows } from './api/hostile-rows.ts'
import { createWireFormat, type WireFormat } from './api/wire.ts'
import { createMutations, type Mutations } from './mutations.ts'
import { createRandom, purposes } from './seed/random.ts'
import { createRowIds } from './seed/row-ids.ts'
import { createSeedData, type SeedOptions } from './seed/seed-data.ts'
import { createProjectState, type ProjectState } from './state.ts'
import type { Switches } from './switches.ts'
import { createView, type View } from './view.ts'

export type Project = ReturnType<typeof createProject>

/** A write that the service performed, whether or not its response arrived. Times use the service's clock. */
export type LedgerEntry = {
  readonly requestId: string
  readonly operation: string
  readonly params: Readonly<Record<string, string>>
  readonly body: Json
  readonly at: EpochMs
}

export function projectIdFromSeed(seed: number): string {
  return createRowIds(createRandom(seed), purposes.project).idAt(0)
}

/** The seed data is created on first use, so that many projects start as fast as one. */
export function createProject(id: string, seedOptions: SeedOptions, clock: () => EpochMs, switches: () => Switches) {
  let contentsCache: { state: ProjectState; mutate: Mutations } | undefined
  const createContents = () => {
    const state = createProjectState(createSeedData(seedOptions, switches()), clock)
    return { state, mutate: createMutations(state, switches) }
  }
  const contents = () => {
    contentsCache ??= createContents()
    return contentsCache
  }
  let displayCache: { readonly for: Switches; readonly wire: WireFormat; readonly view: View } | undefined
  const display = () => {
    const s = switches()
    if (displayCache?.for === s) return displayCache
    const { state } = contents()
    const wire = withHostileRows(createWireFormat(id, state.seedData.random, s), id, s)
    displayCache = { for: s, wire, view: createView(state, s) }
    return displayCache
  }
  const ledger: LedgerEntry[] = []
  return {
    id,
    ledger,
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
