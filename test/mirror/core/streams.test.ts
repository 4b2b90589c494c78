import { describe, expect, test } from 'vitest'
import {
  availability,
  callRecordings,
  calls,
  conversations,
  messages,
  visitorActivity,
  visitors,
} from '../../../src/mirror/core/streams.ts'
import { type Json, parseJson } from '../../../src/values/json.ts'
import { daySeconds, hourSeconds, minuteSeconds } from '../../../src/values/time.ts'

describe('documented fields become columns, all others are passed on by their paths', () => {
  test('a conversation', () => {
    const fields = {
      visitorId: 'v1',
      handledAt: null,
      createdAt: '2026-01-02T03:04:05.678+01:00',
      mood: 'good',
    }
    const item = { id: 'c1', projectId: 'p1', ...fields }
    const [row] = conversations.parseRows([item]).rows
    expect(row!.columns).toEqual({
      id: 'c1',
      visitor_id: 'v1',
      handled_at: null,
      created_at: '2026-01-02T02:04:05Z',
    })
    expect([...row!.extraFields]).toEqual([['mood', { value: 'good', isJsonText: false }]])
    expect(row!.item).toBe(item)
  })

  test('a visitor with nested objects, lists and empty objects', () => {
    const item = {
      id: 'v1',
      name: null,
      email: 'a@b.c',
      custom: { plan: 'pro', seats: 3, more: {} },
      tags: ['x'],
    }
    const [row] = visitors.parseRows([item]).rows
    expect(row!.columns).toEqual({ id: 'v1', name: null, email: 'a@b.c' })
    expect([...row!.extraFields]).toEqual([
      ['custom.plan', { value: 'pro', isJsonText: false }],
      ['custom.seats', { value: 3, isJsonText: false }],
      ['custom.more', { value: '{}', isJsonText: true }],
      ['tags', { value: '["x"]', isJsonText: true }],
    ])
  })

  test('a documented field of another type: JSON in a text column, null for an unreadable time', () => {
    const [row] = conversations.parseRows([
      { id: 'c1', status: { is: 'open' }, createdAt: 'yesterday' },
    ]).rows
    expect(row!.columns).toMatchObject({ status: '{"is":"open"}', created_at: null })
  })

  test('a message belongs to the requested conversation, and its id may be beyond 2^53', () => {
    const item = parseJson('{"id":9007199254740993,"conversationId":"elsewhere","content":"hi"}')
    const [row] = messages.parseRows([item], 'c1').rows
    expect(row!.columns).toEqual({
      id: 9_007_199_254_740_993n,
      conversation_id: 'c1',
      content: 'hi',
    })
  })

  test('availability is stamped with the time of the request', () => {
    const { columns } = availability.parseRow({ available: true, agentsOnline: 2 }, 0)
    expect(columns).toEqual({ available: true, agents_online: 2, read_at: '1970-01-01T00:00:00Z' })
  })
})

describe('keys', () => {
  test.each([
    ['id', { id: 'k' }],
    ['visitorId', { visitorId: 'k' }],
    ['visitor_id', { visitor_id: 'k' }],
    ['uuid', { uuid: 'k' }],
    ['a number', { id: 7 }],
  ])('are found in %s', (_, item) => {
    expect(visitors.parseRows([item as Json]).rows[0]!.columns.id).toBe(
      'id' in item && item.id === 7 ? '7' : 'k',
    )
  })

  test('rows without one are refused', () => {
    expect(
      calls.parseRows([null, 7, [], { id: null }, { name: 'x' }, { id: 'k' }] as Json[]),
    ).toMatchObject({
      rejectedRows: Array(5).fill(expect.anything()),
    })
  })
})

describe('the time of an event', () => {
  test.each([
    [
      { id: 'k', endedAt: '2026-01-01T00:09:00Z', startedAt: '2026-01-01T00:00:00Z' },
      '2026-01-01T00:00:00Z',
    ],
    [
      { id: 'k', started_at: '2026-01-01T00:00:00Z', created_at: '2026-01-01T00:09:00Z' },
      '2026-01-01T00:00:00Z',
    ],
    [
      { id: 'k', timing: { createdAt: '2026-01-01T00:00:00Z', endedAt: '2026-01-01T00:09:00Z' } },
      '2026-01-01T00:00:00Z',
    ],
    [
      { id: 'k', finished: '2026-01-01T00:09:00Z', begun: '2026-01-01T00:00:00Z' },
      '2026-01-01T00:00:00Z',
    ],
    [{ id: 'k', note: 'never' }, null],
  ])('%j', (item, at) => {
    expect(calls.parseRows([item]).rows[0]!.columns.occurred_at).toBe(at)
  })

  test('a field named `occurredAt` creates no second column', () => {
    const [row] = visitorActivity.parseRows(
      [{ occurredAt: '2026-01-01T00:00:00Z', type: 'view' }],
      'v1',
    ).rows
    expect([...row!.extraFields.keys()]).toEqual(['type'])
  })
})

describe('activity entries', () => {
  const entry = { type: 'view', at: '2026-01-01T00:00:00Z' }
  const keys = (items: Json[]) =>
    visitorActivity
      .parseRows(items, 'v1')
      .rows.map(({ columns }) => [columns.entry_hash, columns.ordinal])

  test('that are identical are numbered', () => {
    const [[a, first], [b, second]] = keys([entry, { ...entry }]) as [
      [string, number],
      [string, number],
    ]
    expect([a === b, first, second]).toEqual([true, 0, 1])
  })

  test('are the same regardless of the order of their fields', () => {
    expect(keys([{ at: entry.at, type: entry.type }])).toEqual(keys([entry]))
  })

  test('with an id and a time stay one entry when they change', () => {
    expect(keys([{ id: 5, at: entry.at, seconds: 10 }])).toEqual(
      keys([{ id: 5, at: entry.at, seconds: 90 }]),
    )
  })

  test.each<[string, Json, Json]>([
    [
      'of different times, if an id is that of the page',
      { id: 5, at: entry.at },
      { id: 5, at: '2026-01-01T00:00:01Z' },
    ],
    ['of different ids', { id: 5, at: entry.at }, { id: 6, at: entry.at }],
    ['without a time', { id: 5, text: 'a' }, { id: 5, text: 'b' }],
    [
      'with an unreadable time',
      { id: 5, at: 'today', text: 'a' },
      { id: 5, at: 'today', text: 'b' },
    ],
  ])('%s are different entries', (_, a, b) => {
    const [[first], [second]] = keys([a, b]) as [[string, number], [string, number]]
    expect(first).not.toBe(second)
  })

  test('with the same id and time are numbered, whatever else they show', () => {
    const [[a, first], [b, second]] = keys([
      { id: 5, ...entry },
      { id: 5, ...entry, type: 'click' },
    ]) as [[string, number], [string, number]]
    expect([a === b, first, second]).toEqual([true, 0, 1])
  })
})

describe('a missing recording', () => {
  const none = { hasRecording: false }
  test('is requested again at growing intervals while its call is younger than a week', () => {
    const ages = [0, hourSeconds, 3 * hourSeconds, 2 * daySeconds]
    const intervals = [15 * minuteSeconds, hourSeconds, 3 * hourSeconds, 6 * hourSeconds]
    expect(ages.map((age) => callRecordings.rereadAfter(none, age))).toEqual(intervals)
    expect(callRecordings.rereadAfter(none, 8 * daySeconds)).toBeNull()
  })

  test('is not requested again once it exists', () => {
    expect(callRecordings.rereadAfter({ hasRecording: true }, 0)).toBeNull()
  })

  test('may be a 404, which is stored as a row', () => {
    const row = callRecordings.parseRow(null, 'k', 0)
    expect(row).toMatchObject({ item: {}, columns: { call_id: 'k', has_recording: false } })
  })
})
