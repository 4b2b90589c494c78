/** The sandbox's analytics rollup. Switches define what its numbers count. */
import { createTimeZone, localDayOf, startOfDay } from '../values/days.ts'
import type { Json } from '../values/json.ts'
import { type EpochMs, type EpochSeconds, toTimestamp } from '../values/time.ts'
import type { Conversation, Message, Sequence } from './model.ts'
import type { Project } from './project.ts'
import { purposes, toUnitInterval } from './random.ts'
import { findFirstPosition } from './row-store.ts'
import type { ProjectState } from './state.ts'
import type { Switches } from './switches.ts'

type Window = { readonly from: EpochMs; readonly to: EpochMs }

/** Counts and times are exact; ratings are random, but stable: no row has one. */
export function computeRollup({ state }: Project, asked: Window, s: Switches): Json {
  const window = countedWindow(asked, s)
  const conversations = rowsWithin(state.conversations.orderedBy('createdAt'), window)
  const started =
    s['analytics.started'] === 'creation'
      ? conversations.length
      : countFirstAgentMessages(state, window)
  const answers = firstAnswerSeconds(state, conversations, s)
  const [first, last] = [asked.from, asked.to].map((at) => Math.floor(at / 60_000))
  const rating = toUnitInterval(state.seedData.random(purposes.rollup, first ?? 0, last ?? 0))
  return {
    from: toTimestamp(asked.from),
    to: toTimestamp(asked.to),
    conversations: { started, active: countActive(state, window, s) },
    visitors: { new: rowsWithin(state.visitors.orderedBy('createdAt'), window).length },
    calls: { total: rowsWithin(state.calls.orderedBy('startedAt'), window).length },
    responseTimes: {
      firstMedianSeconds: median(answers),
      firstP90Seconds: smallestCovering(answers, 0.9),
    },
    satisfaction: started === 0 ? null : Math.round(rating * 500) / 100,
    busiestHours: busiestHours(conversations).slice(0, 2),
  }
}

/** Of the date that has most of the window: from the midnight of the zone that the switch names. */
function countedWindow({ from, to }: Window, s: Switches): Window {
  if (s['analytics.day'] === 'asked') return { from, to }
  const utc = createTimeZone('UTC')
  const zone = createTimeZone(s['analytics.day'])
  const midnight = (at: EpochMs) =>
    startOfDay(zone, localDayOf(utc, Math.floor(at / 1000) + 12 * 3600)) * 1000
  return { from: midnight(from), to: midnight(to) }
}

function rowsWithin<T>(rows: Sequence<T>, { from, to }: Window): T[] {
  const first = findFirstPosition(rows.length, (position) => rows.timeAt(position) >= from)
  const end = findFirstPosition(rows.length, (position) => rows.timeAt(position) >= to)
  return Array.from({ length: Math.max(0, end - first) }, (_, n) => rows.rowAt(first + n))
}

function countFirstAgentMessages(state: ProjectState, { from, to }: Window): number {
  const since = { from, to: Number.POSITIVE_INFINITY }
  return rowsWithin(state.conversations.orderedBy('lastMessageAt'), since).filter((row) => {
    const first = row.createdAt < to ? firstMessage(state, row, 'agent') : undefined
    return first !== undefined && first.createdAt >= from && first.createdAt < to
  }).length
}

function countActive(state: ProjectState, window: Window, s: Switches): number {
  const rows = rowsWithin(state.conversations.orderedBy('lastMessageAt'), window)
  const isOnlyBot = (row: Conversation) =>
    firstMessage(state, row, 'ai') !== undefined && firstMessage(state, row, 'agent') === undefined
  return rows.filter((row) => s['analytics.bots'] || !isOnlyBot(row)).length
}

function firstMessage(state: ProjectState, row: Conversation, sender: string): Message | undefined {
  return state.messages.of(row).find(({ senderType }) => senderType === sender)
}

/** From the visitor's first message to the first answer after it, by the times that rows show. */
function firstAnswerSeconds(
  state: ProjectState,
  conversations: readonly Conversation[],
  s: Switches,
): number[] {
  const senders = s['analytics.bots'] ? ['agent', 'ai'] : ['agent']
  const seconds = conversations.flatMap((row) => {
    const messages = state.messages.of(row)
    const asked = messages.findIndex(({ senderType }) => senderType === 'visitor')
    const answer = messages.slice(asked + 1).find(({ senderType }) => senders.includes(senderType))
    const question = messages[asked]
    return question === undefined || answer === undefined ? [] : [shown(answer) - shown(question)]
  })
  return seconds.sort((a, b) => a - b)
}

const shown = ({ createdAt }: Message): EpochSeconds => Math.floor(createdAt / 1000)

function median(sorted: readonly number[]): number | null {
  const low = sorted[Math.floor((sorted.length - 1) / 2)]
  const high = sorted[Math.ceil((sorted.length - 1) / 2)]
  return low === undefined || high === undefined ? null : Math.round((low + high) / 2)
}

function smallestCovering(sorted: readonly number[], share: number): number | null {
  return sorted[Math.ceil(sorted.length * share) - 1] ?? null
}

/** Hours of UTC in which conversations began, the busiest first, of equal ones the earlier. */
function busiestHours(conversations: readonly Conversation[]): number[] {
  const byHour = Map.groupBy(conversations, ({ createdAt }) => new Date(createdAt).getUTCHours())
  return [...byHour]
    .sort(([a, inA], [b, inB]) => inB.length - inA.length || a - b)
    .map(([hour]) => hour)
}
