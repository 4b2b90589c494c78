/** The seed data of a project: any number of rows, created on access and not kept. */
import type { Activity, PhoneCall, Visitor } from './model.ts'
import { integerBetween, pick, purposes, toUnitInterval } from './random.ts'
import type { SeedRows } from './row-store.ts'
import { createSeedContext, type SeedContext, type SeedOptions, toRange } from './seed-context.ts'
import { createConversations } from './seed-conversations.ts'
import type { Switches } from './switches.ts'

export type SeedData = ReturnType<typeof createSeedData>

export function createSeedData(options: SeedOptions, switches: Switches) {
  const seed = createSeedContext(options, switches)
  return {
    random: seed.random,
    sampleText: seed.sampleText,
    conversations: createConversations(seed),
    visitors: createVisitors(seed),
    activityOf: createActivities(seed),
    calls: createCalls(seed),
  }
}

export type VisitorTime = 'createdAt' | 'lastSeenAt' | 'updatedAt'

const hourMs = 3_600_000

function createVisitors({ random, sampleText, size, visitorIds, createLine }: SeedContext) {
  const time = createLine('visitor')
  const lastSeenAt = (index: number) => time.endAt(index, (random(purposes.time, index, 7) % 400) * hourMs)
  return {
    count: size.visitors,
    ids: visitorIds,
    timeOf: (field, index) => (field === 'createdAt' ? time.startAt(index) : lastSeenAt(index)),
    /** Every fourth visitor has no email, every ninth no name. */
    seedRow(index) {
      const draw = random(purposes.person, index, 2)
      return {
        index,
        id: visitorIds.idAt(index),
        name: draw % 9 === 0 ? null : sampleText.personName(index),
        email: draw % 4 === 0 ? null : `visitor.${index}+${draw % 97}@example.org`,
        createdAt: time.startAt(index),
        lastSeenAt: lastSeenAt(index),
        updatedAt: lastSeenAt(index),
      }
    },
  } satisfies SeedRows<Visitor, VisitorTime>
}

const activityKinds = 'page_view page_view page_view form_submitted chat_opened file_downloaded signed_in'.split(' ')

/** Some entries are exact copies of the previous one, unless they have ids. */
function createActivities({ random, size, switches }: SeedContext) {
  const [low, high] = toRange(size.activityPerVisitor)
  return (visitor: Visitor): Activity[] => {
    const length = integerBetween(low, high, random(purposes.size, purposes.entry, visitor.index))
    const span = visitor.lastSeenAt - visitor.createdAt
    const lastSecond = Math.floor(visitor.lastSeenAt / 1000) * 1000
    const stormSize = Math.min(switches['storm.activity'], length)
    // Odd entries may repeat the even one before them exactly.
    const original = (k: number) => (k % 2 === 1 && random(purposes.entry, visitor.index, k) % 9 === 0 ? k - 1 : k)
    const timeAt = (k: number) => {
      const at = original(k)
      if (length - at <= stormSize) return lastSecond
      const share = (at + toUnitInterval(random(purposes.time, visitor.index, at + 100)) * 0.9) / length
      return Math.min(Math.floor(visitor.createdAt + share * span), lastSecond)
    }
    return Array.from({ length }, (_, k) => {
      const draw = random(purposes.extra, visitor.index, original(k))
      return { kind: pick(activityKinds, draw), at: timeAt(k), variantSeed: draw, position: k }
    })
  }
}

export type CallTime = 'startedAt' | 'endedAt'

const callOutcomes = ['completed', 'completed', 'completed', 'missed', 'voicemail', 'failed']

function createCalls({ random, size, visitorOf, createIds, createLine }: SeedContext) {
  const [ids, time] = [createIds('call'), createLine('call')]
  const outcome = (index: number) => pick(callOutcomes, random(purposes.outcome, index))
  const endedAt = (index: number) =>
    time.endAt(index, outcome(index) === 'missed' ? 0 : (5 + (random(purposes.time, index, 9) % 3600)) * 1000)
  const recorded = (index: number) => outcome(index) === 'completed' && random(purposes.recording, index) % 4 !== 0
  return {
    count: size.calls,
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
  } satisfies SeedRows<PhoneCall, CallTime>
}
