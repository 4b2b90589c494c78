/** One project of the service: its rows, its writes, and what can happen to it. */
import type { EpochMs } from '../core/time.ts'
import { withHostileRows } from './api/hostile-rows.ts'
import type { Json } from './api/json.ts'
import { type WireFormat, createWireFormat } from './api/wire.ts'
import { type Mutations, createMutations } from './mutations.ts'
import { createRandom, purposes } from './seed/random.ts'
import { createRowIds } from './seed/row-ids.ts'
import { type SeedOptions, createSeedData } from './seed/seed-data.ts'
import { type ProjectState, createProjectState } from './state.ts'
import type { Switches } from './switches.ts'
import { type View, createView } from './view.ts'

export type Project = {
  readonly id: string
  readonly state: ProjectState
  readonly mutate: Mutations
  /** Which of its rows show, and with what times, under the switches of now. */
  readonly view: () => View
  /** How its rows look under the switches of now. */
  readonly wire: () => WireFormat
  readonly ledger: LedgerEntry[]
  /** Back to the seeded past, made under the switches of now. */
  readonly reset: () => void
}

/** A write that the service did, whether or not its answer arrived. Times are milliseconds by the service's clock. */
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

/** The world is made when the project is first looked at: two hundred projects start as fast as one. */
export function createProject(id: string, seedOptions: SeedOptions, clock: () => EpochMs, switches: () => Switches): Project {
  let contentsCache: { state: ProjectState; mutate: Mutations } | undefined
  const contents = () => {
    if (contentsCache === undefined) {
      const state = createProjectState(createSeedData(seedOptions, switches()), clock)
      contentsCache = { state, mutate: createMutations(state, switches) }
    }
    return contentsCache
  }
  let displayCache: { readonly for: Switches; readonly wire: WireFormat; readonly view: View } | undefined
  const display = () => {
    const s = switches()
    const { state } = contents()
    if (displayCache?.for !== s)
      displayCache = { for: s, wire: withHostileRows(createWireFormat(id, state.seedData.random, s), id, s), view: createView(state, s) }
    return displayCache
  }
  return {
    id,
    ledger: [],
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
    view: () => display().view,
    wire: () => display().wire,
  }
}
