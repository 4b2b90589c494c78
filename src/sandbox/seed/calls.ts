/** Calls of the seed data. */
import type { PhoneCall } from '../model.ts'
import type { SeedRows } from '../row-store.ts'
import { pick, purposes, type Random } from './random.ts'
import { createRowIds, type IdLetters } from './row-ids.ts'
import type { Timeline } from './timeline.ts'

export type CallTime = 'startedAt' | 'endedAt'

type CallParts = {
  readonly random: Random
  readonly visitorOf: (draw: number) => string
  readonly idLetters: IdLetters
  readonly count: number
  readonly time: Timeline
}

const callOutcomes = ['completed', 'completed', 'completed', 'missed', 'voicemail', 'failed']

export function createCalls({ random, visitorOf, idLetters, count, time }: CallParts): SeedRows<PhoneCall, CallTime> {
  const ids = createRowIds(random, purposes.call, idLetters)
  const outcome = (index: number) => pick(callOutcomes, random(purposes.outcome, index))
  const endedAt = (index: number) =>
    time.endAt(index, outcome(index) === 'missed' ? 0 : (5 + (random(purposes.time, index, 9) % 3600)) * 1000)
  const recorded = (index: number) => outcome(index) === 'completed' && random(purposes.recording, index) % 4 !== 0
  return {
    count,
    ids,
    timeOf: (field, index) => (field === 'startedAt' ? time.startAt(index) : endedAt(index)),
    seedRow: (index) => ({
      index,
      id: ids.idAt(index),
      visitorId: visitorOf(random(purposes.visitor, index, 1)),
      startedAt: time.startAt(index),
      endedAt: endedAt(index),
      outcome: outcome(index),
      recordedAt: recorded(index) ? endedAt(index) + 1000 : null,
    }),
  }
}
