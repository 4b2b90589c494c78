/** One project of the service: its rows, its writes, and what can happen to it. */
import type { EpochMs } from '../core/time.ts'
import { hostileWire } from './api/hostile.ts'
import type { Json } from './api/json.ts'
import { type Wire, wireOf } from './api/wire.ts'
import { type Mutations, mutationsOf } from './mutations.ts'
import { diceFor, purposes } from './past/dice.ts'
import { identity } from './past/identity.ts'
import { type Past, worldOf } from './past/world.ts'
import { type State, stateOf } from './state.ts'
import type { Switches } from './switches.ts'
import { type View, viewOf } from './view.ts'

export type Project = {
  readonly id: string
  readonly state: State
  readonly mutate: Mutations
  /** Which of its rows show, and with what times, under the switches of now. */
  readonly view: () => View
  /** How its rows look under the switches of now. */
  readonly wire: () => Wire
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

export function projectIdOf(seed: number): string {
  return identity(diceFor(seed), purposes.project).of(0)
}

/** The world is made when the project is first looked at: two hundred projects start as fast as one. */
export function projectOf(id: string, past: Past, clock: () => EpochMs, switches: () => Switches): Project {
  let made: { state: State; mutate: Mutations } | undefined
  const contents = () => {
    if (made === undefined) {
      const state = stateOf(worldOf(past, switches()), clock)
      made = { state, mutate: mutationsOf(state, switches) }
    }
    return made
  }
  let dressed: { readonly for: Switches; readonly wire: Wire; readonly view: View } | undefined
  const dress = () => {
    const s = switches()
    const { state } = contents()
    if (dressed?.for !== s)
      dressed = { for: s, wire: hostileWire(wireOf(id, state.world.dice, s), id, s), view: viewOf(state, s) }
    return dressed
  }
  return {
    id,
    ledger: [],
    reset() {
      made = undefined
      dressed = undefined
    },
    get state() {
      return contents().state
    },
    get mutate() {
      return contents().mutate
    },
    view: () => dress().view,
    wire: () => dress().wire,
  }
}
