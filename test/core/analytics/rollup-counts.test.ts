/** What each candidate counts, beside a model that asks of every day anew which rows its reading shows. */
import { describe, expect, test } from 'vitest'
import { ownValue } from '../../../src/core/analytics/learn-rollup-definition.ts'
import { spansOfFilter } from '../../../src/core/analytics/rollup-conversation-filter.ts'
import {
  createRollupDays,
  otherZones,
  type RollupWindow,
  rollupBorders,
} from '../../../src/core/analytics/rollup-days.ts'
import { describeMeasure, type RollupMeasure } from '../../../src/core/analytics/rollup-measures.ts'
import { seededRandom } from '../../support/seeded-random.ts'
import {
  candidatesFor,
  createRollupWorld,
  measuresOf,
  type RollupWorld,
  visitorEvents,
  type WorldConversation,
} from './rollup-world.ts'

const borders = rollupBorders(['UTC', 'America/New_York', 'Europe/Berlin', otherZones[0]])

describe.each([1, 2, 3])('in random world %i', (seed) => {
  const world = createRollupWorld(seededRandom(seed), 9, 150)
  const days = createRollupDays(world.windows, borders)
  const measures = measuresOf(world)
  const candidates = candidatesFor(world, measures, days, seed)
  const values = new Map(
    candidates.map((candidate) => [
      candidate.name,
      Array.from(candidate.values.keys(), (index) => ownValue(candidate, index) ?? Number.NaN),
    ]),
  )

  test('each count is the one of the model, in the days of each border', () => {
    const counted = measures.filter(({ population }) => population !== 'answers' && population !== 'hours')
    for (const measure of counted)
      for (const border of borders) {
        const name = border.name === '' ? describeMeasure(measure) : `${describeMeasure(measure)}, ${border.name}`
        // Borders that are the same for all windows are one.
        if (!values.has(name)) continue
        const expected = world.windows.map((window) => countOn({ ...window, ...border.of(window) }, measure, world))
        expect([name, values.get(name)]).toEqual([name, expected])
      }
  })

  test('each longest answer is the one of the model', () => {
    for (const measure of measures) {
      if (measure.population !== 'answers') continue
      const expected = world.windows.map((day) => longestOn(day, measure, world))
      expect(values.get(`maximum of the ${describeMeasure(measure)}, in seconds`)).toEqual(expected)
    }
  })

  test('each busiest hour is the one of the model', () => {
    const createdAt = world.conversations.flatMap(({ createdAt, deletedAt }) =>
      deletedAt === null ? [createdAt ?? 0] : [],
    )
    const expected = world.windows.map((day) => {
      const hours = createdAt.filter((at) => isShown(day, at)).map((at) => new Date(at * 1000).getUTCHours())
      const countOf = (hour: number) => hours.filter((other) => other === hour).length
      return hours.toSorted((a, b) => countOf(b) - countOf(a) || a - b)[0] ?? Number.NaN
    })
    expect(values.get('most frequent hour of UTC by conversations created')).toEqual(expected)
  })
})

const isIn = ({ from, to }: RollupWindow, at: number) => at >= from && at < to
const isShown = (day: RollupWindow, at: number) => isIn(day, at) && at <= day.readAt

function countOn(day: RollupWindow, measure: RollupMeasure, { conversations, counts, ...world }: RollupWorld): number {
  const count = (rows: readonly { readonly at: number }[]) => rows.filter(({ at }) => isShown(day, at)).length
  switch (measure.population) {
    case 'conversations':
      return sum(
        conversations.map((row) => (isKept(day, row, measure.filter) ? timesOn(day, measure.by, row).length : 0)),
      )
    case 'active conversations': {
      const roles = { 'a visitor message': 'visitor', 'a human message': 'human', 'an AI message': 'ai' } as const
      const isOfKind = (role: string) =>
        measure.with === 'any message' ||
        (measure.with === 'an utterance' ? role !== 'event' : role === roles[measure.with])
      const isActive = ({ messages }: WorldConversation) =>
        messages.some(({ at, role }) => isShown(day, at) && isOfKind(role))
      return conversations.filter((row) => isKept(day, row, measure.filter) && isActive(row)).length
    }
    case 'active visitors': {
      const events = visitorEvents({ conversations, counts, ...world }, measure)
      const shown = events.filter((event) => isShown(day, event.at) && !isOver(event.until, day))
      return new Set(shown.map(({ value }) => value)).size
    }
    case 'messages': {
      const { filter } = measure
      const rows = counts.messages.filter(({ role }) =>
        'senderType' in filter
          ? role === filter.senderType
          : filter.rows === 'all' || (role === 'event') === (filter.rows === 'events'),
      )
      return count(rows)
    }
    case 'visitors':
      return count(counts.visitors)
    case 'calls':
      return count(
        counts.calls.filter(({ by, status }) => by === measure.by && [status, null].includes(measure.status)),
      )
    case 'calls with a recording':
      return count(counts.calls.filter(({ by, hasRecording }) => by === measure.by && hasRecording))
    default:
      return Number.NaN
  }
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0)
const isOver = (until: number | null | undefined, { readAt }: RollupWindow) =>
  (until ?? Number.POSITIVE_INFINITY) <= readAt

function isKept({ readAt }: RollupWindow, row: WorldConversation, filter: Parameters<typeof spansOfFilter>[0]) {
  const spans = spansOfFilter(filter, row)
  return spans.some(({ since = readAt, until = Number.POSITIVE_INFINITY }) => since <= readAt && readAt < until)
}

/** The times of the conversation that the reading of the day shows in it. */
function timesOn(day: RollupWindow, by: string, row: WorldConversation): number[] {
  const { messages, handlings, createdAt, firstVisitorAt, firstHumanAt } = row
  const known = messages.map(({ at }) => at).filter((at) => at <= day.readAt)
  const times: Readonly<Record<string, readonly (number | null)[]>> = {
    creation: [createdAt],
    'first visitor message': [firstVisitorAt],
    'first human message': [firstHumanAt],
    'last message': known.length === 0 ? [] : [Math.max(...known)],
    handling: handlings.filter(({ until }) => !isOver(until, day)).map(({ at }) => at),
  }
  return (times[by] ?? []).filter((at) => at !== null).filter((at) => isShown(day, at))
}

function longestOn(
  day: RollupWindow,
  { clock, countedOn, from, hours }: Extract<RollupMeasure, { population: 'answers' }>,
  { answers }: RollupWorld,
): number {
  const shown = answers.filter(({ askedAt, answeredAt, ...answer }) => {
    const at = countedOn === 'question' ? askedAt : answeredAt
    return answer.clock === clock && isIn(day, at) && answeredAt <= day.readAt
  })
  const durations = shown.map((answer) =>
    from === 'creation'
      ? hours === 'all'
        ? (answer.secondsFromCreation ?? 0)
        : (answer.businessSecondsFromCreation ?? 0)
      : hours === 'all'
        ? answer.seconds
        : answer.businessSeconds,
  )
  return durations.length === 0 ? Number.NaN : Math.max(...durations)
}
