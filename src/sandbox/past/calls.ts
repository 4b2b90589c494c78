/** Calls of the seeded past. */
import type { EpochMs } from '../../core/time.ts'
import type { PhoneCall } from '../model.ts'
import { type Dice, pick, purposes } from './dice.ts'
import { type Identity, identity } from './identity.ts'
import type { Timeline } from './timeline.ts'

export type CallTime = 'startedAt' | 'endedAt'

export type Calls = {
  readonly count: number
  readonly identity: Identity
  readonly base: (index: number) => PhoneCall
  readonly timeOf: (field: CallTime, index: number) => EpochMs
}

export type CallParts = {
  readonly dice: Dice
  readonly visitorOf: (thrown: number) => string
  readonly count: number
  readonly time: Timeline
}

export const callOutcomes = ['completed', 'completed', 'completed', 'missed', 'voicemail', 'failed']

export function calls({ dice, visitorOf, count, time }: CallParts): Calls {
  const ids = identity(dice, purposes.call)
  const outcome = (index: number) => pick(callOutcomes, dice(purposes.outcome, index))
  const endedAt = (index: number) =>
    time.after(index, outcome(index) === 'missed' ? 0 : (5 + (dice(purposes.time, index, 9) % 3600)) * 1000)
  const recorded = (index: number) => outcome(index) === 'completed' && dice(purposes.recording, index) % 4 !== 0
  return {
    count,
    identity: ids,
    timeOf: (field, index) => (field === 'startedAt' ? time.startOf(index) : endedAt(index)),
    base: (index) => ({
      index,
      id: ids.of(index),
      visitorId: visitorOf(dice(purposes.visitor, index, 1)),
      startedAt: time.startOf(index),
      endedAt: endedAt(index),
      outcome: outcome(index),
      recordedAt: recorded(index) ? endedAt(index) + 1000 : null,
    }),
  }
}
