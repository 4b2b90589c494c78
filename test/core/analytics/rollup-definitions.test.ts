/** Learning what the numbers of the service's rollups count. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { learnDefinition, ownValue } from '../../../src/core/analytics/learn-rollup-definition.ts'
import { createAnswerStatistics } from '../../../src/core/analytics/rollup-answers.ts'
import type { MeasureEvent } from '../../../src/core/analytics/rollup-day-values.ts'
import {
  createRollupDays,
  partOfDays,
  type RollupDays,
  type RollupWindow,
  rollupBorders,
} from '../../../src/core/analytics/rollup-days.ts'
import { type Candidate, candidatesOf } from '../../../src/core/analytics/rollup-definitions.ts'
import { describeMeasure, type RollupMeasure, rollupMeasures } from '../../../src/core/analytics/rollup-measures.ts'
import { seededRandom } from '../../support/seeded-random.ts'

const hour = 3600
const firstMidnight = Date.parse('2026-01-04T22:00:00Z') / 1000
/** The days of a zone two hours east of UTC, each read when it was over. */
const daysOf = (count: number): RollupWindow[] =>
  Array.from({ length: count }, (_, day) => {
    const from = firstMidnight + day * 24 * hour
    return { from, to: from + 24 * hour, readAt: from + 25 * hour }
  })
const borders = rollupBorders(['UTC', 'America/New_York'])

const byCreation: RollupMeasure = { population: 'conversations', by: 'creation', filter: { rows: 'all' } }
const answers = {
  population: 'answers',
  which: 'first',
  countedOn: 'question',
  from: 'the first message',
  hours: 'all',
} as const

/** The values of the candidate of this name; null = it has none. */
const valuesOf = (candidates: readonly Candidate[], name: string) => {
  const found = candidates.find((candidate) => candidate.name === name)
  return found && Array.from(found.values.keys(), (index) => ownValue(found, index))
}

/** `events` of answers: their value is the duration. */
function candidatesOfEvents(measure: RollupMeasure, events: readonly MeasureEvent[], days: RollupDays): Candidate[] {
  if (measure.population !== 'answers') return candidatesOf(measure, events, days)
  const [at, seconds] = [events.map((event) => event.at), events.map(({ value }) => Number(value))]
  const statistics = createAnswerStatistics(days)
  statistics.add(partOfDays(days, 0, days.windows.length), measure, {
    ...{ isFirst: at, askedAt: at, answeredAt: at, seconds, businessSeconds: seconds },
    ...{ secondsFromCreation: seconds, businessSecondsFromCreation: seconds },
  })
  return statistics.candidatesOf(measure)
}

describe('a candidate counts the events of each day', () => {
  const windows = daysOf(1)
  const hours = (...times: readonly number[]) =>
    times.map((time): MeasureEvent => ({ at: firstMidnight + time * hour, value: 1 }))

  test('the day may begin and end in several ways', () => {
    // At the start, an hour before its end, at its end, and within the UTC day of the same date.
    const candidates = candidatesOf(byCreation, hours(0, 23, 24, 24.5), createRollupDays(windows, borders))
    expect(candidates.map(({ name, values }) => [name, values[0]])).toEqual([
      ['conversations, by creation', 2],
      ['conversations, by creation, in the day of UTC', 3],
      ['conversations, by creation, in the day of America/New_York', 3],
      ['conversations, by creation, with the last second', 3],
      ['conversations, by creation, without the first second', 2],
      ['conversations, by creation, an hour later', 3],
    ])
  })

  test('active conversations count once a day', () => {
    const measure: RollupMeasure = { population: 'active conversations', with: 'any message', filter: { rows: 'all' } }
    const events = ['c1', 'c1', 'c2'].map((value, index) => ({ at: firstMidnight + index * hour, value }))
    const candidates = candidatesOf(measure, events, createRollupDays(windows, borders))
    expect(valuesOf(candidates, 'conversations, with any message on the day')).toEqual([2])
  })

  test('durations have several statistics, in several units', () => {
    const durations = [600, 60, 120, 180].map((value, index) => ({ at: firstMidnight + index, value }))
    const empty = { from: 0, to: 1, readAt: 2 }
    const candidates = candidatesOfEvents(
      { ...answers, clock: 'any' },
      durations,
      createRollupDays([empty, ...windows], borders),
    )
    const values = (statistic: string, unit = 'seconds') =>
      valuesOf(
        candidates,
        `${statistic} of the time to first answer from the first message, on the day of the question, in ${unit}`,
      )
    expect([values('median'), values('lower median'), values('mean')]).toEqual([
      [null, 150],
      [null, 120],
      [null, 240],
    ])
    expect([values('90th percentile'), values('interpolated 90th percentile')]).toEqual([
      [null, 600],
      [null, expect.closeTo(474, 9)],
    ])
    expect([values('maximum', 'minutes'), values('maximum', 'milliseconds')]).toEqual([
      [null, 10],
      [null, 600_000],
    ])
  })

  test('a message is the last one only in what was read before the next one', () => {
    const measure: RollupMeasure = { population: 'conversations', by: 'last message', filter: { rows: 'all' } }
    const [day] = windows
    const events = [
      { at: firstMidnight, value: 1, until: firstMidnight + 30 * hour },
      { at: firstMidnight + 30 * hour, value: 1 },
    ]
    const read = (readAt: number) => [
      ...candidatesOf(measure, events, createRollupDays([{ ...day!, readAt }], borders))[0]!.values,
    ]
    expect([read(firstMidnight + 25 * hour), read(firstMidnight + 31 * hour)]).toEqual([[1], [0]])
  })

  test('a day of another zone that was read before its end has what had happened by then', () => {
    const read = windows.map((window) => ({ ...window, readAt: window.to + hour }))
    const days = createRollupDays(read, rollupBorders(['America/New_York']))
    const name = 'conversations, by creation, in the day of America/New_York'
    // The day of New York ends seven hours later.
    expect(valuesOf(candidatesOf(byCreation, hours(8, 24, 26, 30), days), name)).toEqual([2])
  })

  test('the busiest hours are those with the most events; of two equal ones the earlier is first', () => {
    const events = [9, 14, 14, 8, 14, 9, 8].map((value, index) => ({ at: firstMidnight + index, value }))
    const candidates = candidatesOf(
      { population: 'hours', with: 'messages', zone: 'UTC' },
      events,
      createRollupDays(windows, borders),
    )
    const names = ['most frequent', 'second most frequent', 'third most frequent'].map(
      (rank) => `${rank} hour of UTC by messages`,
    )
    expect(names.map((name) => valuesOf(candidates, name)?.[0])).toEqual([14, 8, 9])
  })
})

test('every candidate has a name of its own, in plain words', () => {
  const windows = daysOf(3)
  const measures = rollupMeasures({
    ...{ origins: ['widget', 'mail'], senderTypes: ['visitor', 'bot'], visitorTimes: ['created_at'] },
    ...{ callTimes: ['occurred_at', 'ended_at'], callStatuses: ['missed'], zones: ['UTC'] },
  })
  const names = measures.flatMap((measure) =>
    candidatesOfEvents(measure, [], createRollupDays(windows, borders)).map(({ name }) => name),
  )
  expect(new Set(names).size).toBe(names.length)
  expect(measures.map(describeMeasure)).toEqual(
    expect.arrayContaining([
      'conversations, by creation',
      'conversations, deleted ones too, by creation',
      'conversations not of the origin mail, by handling',
      'conversations answered by the AI alone, by creation',
      'conversations with a human message, with a visitor message on the day',
      'messages of the sender type bot',
      'visitors, by created_at',
      'visitors with activity on the day',
      'calls of status missed, by ended_at',
      'calls with a recording, by occurred_at',
      'business time to every human answer, on the day of the answer',
    ]),
  )
})

describe('definitions of a service are found among all candidates', () => {
  const mirror = randomMirror(60)
  const measures = rollupMeasures({
    origins: ['widget'],
    senderTypes: ['bot'],
    visitorTimes: [],
    callTimes: [],
    callStatuses: [],
    zones: ['UTC'],
  })
  const windows = daysOf(60)
  const candidates = measures.flatMap((measure) =>
    candidatesOfEvents(measure, eventsOf(measure, mirror), createRollupDays(windows, borders)),
  )

  test.each([
    ['conversations, by creation', 'proven'],
    ['conversations, by creation, in the day of UTC', 'proven'],
    ['conversations, by creation, in the day of America/New_York', 'proven'],
    ['conversations, by first visitor message', 'proven'],
    ['conversations with an AI message, by creation', 'proven'],
    ['median of the time to first answer from the first message, on the day of the question, in seconds', 'proven'],
    [
      'median of the time to first human answer from the first message, on the day of the question, in seconds',
      'proven',
    ],
    ['mean of the time to first human answer from the first message, on the day of the question, in minutes', 'proven'],
  ])('%s', (name, verdict) => {
    const service = (valuesOf(candidates, name) ?? []).map((value) => value ?? 0)
    expect(service).toHaveLength(60)
    const { best, ...learned } = learnDefinition(service, candidates)
    expect([(valuesOf(candidates, best?.name ?? '') ?? []).map((value) => value ?? 0), learned.verdict]).toEqual([
      service,
      verdict,
    ])
  })

  test('numbers that are none of them are unknown', () => {
    const numbers = fc.array(fc.nat(50), { minLength: 60, maxLength: 60 })
    fc.assert(
      fc.property(numbers, (service) => {
        expect(learnDefinition(service, candidates).verdict).toBe('unknown')
      }),
      { numRuns: 5 },
    )
  })
})

type MirroredConversation = Readonly<Record<'id' | 'createdAt' | 'askedAt' | 'aiAt' | 'humanAt', number>>

/** Some conversations each hour; the AI answers a part of them. */
function randomMirror(days: number): readonly MirroredConversation[] {
  const random = seededRandom(13)
  return Array.from({ length: days * 40 }, (_, id) => {
    const createdAt = firstMidnight - 12 * hour + Math.floor(random() * (days + 1) * 24 * hour)
    const askedAt = createdAt + Math.floor(random() * 2 * hour)
    const humanAt = askedAt + Math.floor(random() * 5 * hour)
    const aiAt = random() < 0.3 ? askedAt + Math.floor(random() * (humanAt - askedAt)) : Number.NaN
    return { id, createdAt, askedAt, aiAt, humanAt }
  })
}

/** The events of those measures that this small mirror knows. */
function eventsOf(measure: RollupMeasure, mirror: readonly MirroredConversation[]): MeasureEvent[] {
  return mirror.flatMap((conversation) => eventsOfConversation(measure, conversation)).sort((a, b) => a.at - b.at)
}

function eventsOfConversation(measure: RollupMeasure, mirrored: MirroredConversation): MeasureEvent[] {
  const { createdAt, askedAt, aiAt, humanAt } = mirrored
  const hasAi = !Number.isNaN(aiAt)
  if (measure.population === 'conversations') {
    const times = {
      creation: createdAt,
      'first visitor message': askedAt,
      'first human message': humanAt,
      handling: humanAt + hour,
    }
    const at = measure.by === 'last message' ? humanAt : times[measure.by]
    return measure.filter.rows === 'with an AI message' && !hasAi ? [] : [{ at, value: mirrored.id }]
  }
  if (measure.population !== 'answers' || measure.hours === 'business') return []
  const answeredAt = measure.clock === 'any' && hasAi ? aiAt : humanAt
  const from = measure.from === 'creation' ? createdAt : askedAt
  return [{ at: measure.countedOn === 'question' ? askedAt : answeredAt, value: answeredAt - from }]
}
