/** The seed data of a project: any number of rows, created on access and not kept. */
import type { EpochMs } from '../../core/time.ts'
import type { Switches } from '../switches.ts'
import { createActivities } from './activities.ts'
import { createCalls } from './calls.ts'
import { createConversations } from './conversations.ts'
import { createRandom, purposes } from './random.ts'
import { createRowIds } from './row-ids.ts'
import { createSampleText } from './sample-text.ts'
import { createTimeline } from './timeline.ts'
import { createVisitors } from './visitors.ts'

/** Numbers of rows. A range is drawn evenly, both ends included. */
export type Size = {
  readonly conversations: number
  readonly visitors: number
  readonly calls: number
  readonly messagesPerConversation: number | Range
  /** Share of the conversations that have only the fewest messages of the range; 0 if missing. */
  readonly shortConversations?: number
  /** Only the newest this many conversations can be open: a project's backlog does not grow with its age. Any if missing. */
  readonly openConversations?: number
  readonly activityPerVisitor: number | Range
  /** How many days the data covers. */
  readonly days: number
}
export type Range = readonly [low: number, high: number]

export const defaultSize: Size = {
  conversations: 300,
  visitors: 200,
  calls: 120,
  messagesPerConversation: [1, 30],
  activityPerVisitor: [0, 12],
  days: 60,
}

export type SeedData = ReturnType<typeof createSeedData>

/** `end`: when the seed data ends and the service starts; its last row is a few seconds older. */
export type SeedOptions = { readonly seed: number; readonly size: Size; readonly end: EpochMs }

const dayMs = 86_400_000

export function createSeedData({ seed, size, end }: SeedOptions, switches: Switches) {
  const random = createRandom(seed)
  const sampleText = createSampleText(random)
  const isWeekly = switches['rows.rhythm'] === 'weekly'
  const [from, to] = [end - size.days * dayMs, end - 5000]
  const createLine = (purpose: 'conversation' | 'visitor' | 'call', count: number, storm: number) =>
    createTimeline({ from, to, count, storm, isWeekly }, random, purposes[purpose])
  const idLetters = switches['ids.letters']
  const visitorIds = createRowIds(random, purposes.visitor, idLetters)
  const visitorOf = (draw: number) => visitorIds.idAt(draw % Math.max(1, size.visitors))
  const parts = { random, sampleText, to, visitorOf, idLetters, textVariety: switches.content }
  return {
    random,
    sampleText,
    textVariety: switches.content,
    conversations: createConversations({
      ...parts,
      count: size.conversations,
      messages: toRange(size.messagesPerConversation),
      shortShare: size.shortConversations ?? 0,
      canBeOpen: size.openConversations ?? size.conversations,
      messageStorm: switches['storm.messages'],
      time: createLine('conversation', size.conversations, switches['storm.conversations']),
    }),
    visitors: createVisitors({
      ...parts,
      count: size.visitors,
      ids: visitorIds,
      time: createLine('visitor', size.visitors, switches['storm.visitors']),
    }),
    activityOf: createActivities(random, toRange(size.activityPerVisitor), switches['storm.activity']),
    calls: createCalls({ ...parts, count: size.calls, time: createLine('call', size.calls, switches['storm.calls']) }),
  }
}

function toRange(size: number | Range): Range {
  return typeof size === 'number' ? [size, size] : size
}
