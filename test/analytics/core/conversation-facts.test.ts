/** The facts of a conversation as a whole, and that its parts add up to it. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { deriveConversationFacts } from '../../../src/analytics/core/conversation-facts.ts'
import type { AuthorRole, ConversationHistory } from '../../../src/analytics/core/handlings.ts'
import { at, calendar, factsOf, historyOf, type ModelDay } from './conversations-on-a-day.ts'

const rowOf = (conversation: ModelDay, mirroredSince?: string) =>
  factsOf(conversation, mirroredSince).conversation
const typical: ModelDay = {
  lines: [
    ...['9:00 visitor', '9:01 ai Bot', '9:02 visitor', '9:30 event', '10:30 human Anna'],
    ...['10:31 human Ben', '10:40 visitor', '11:00 human Anna'],
  ],
  handled: '12:00',
}

test('a conversation that the AI began and two humans ended', () => {
  expect(rowOf(typical)).toEqual({
    conversation_id: 'c1',
    visitor_id: 'v1',
    origin: 'widget',
    assigned_agent_id: null,
    created_at: at('9:00'),
    created_date: '2026-01-05',
    created_hour: 9,
    is_complete: true,
    is_open: false,
    opened_by: 'visitor',
    answered_by: 'human and ai',
    messages: 8,
    visitor_messages: 3,
    human_messages: 3,
    ai_messages: 1,
    other_messages: 0,
    system_events: 1,
    waits: 3,
    human_turns: 2,
    first_visitor_at: at('9:00'),
    last_visitor_at: at('10:40'),
    first_answer_seconds: 60,
    first_answer_business_seconds: 0,
    first_human_at: at('10:30'),
    first_human_date: '2026-01-05',
    first_human_week: '2026-01-05',
    first_human_month: '2026-01-01',
    first_human_name: 'Anna',
    first_human_seconds: 5400,
    first_human_business_seconds: 1800,
    human_names: 2,
    human_span_seconds: 1800,
    last_human_name: 'Anna',
    last_utterance_at: at('11:00'),
    last_utterance_by: 'human',
    longest_wait_seconds: 88 * 60,
    total_wait_seconds: (1 + 88 + 20) * 60,
    total_human_wait_seconds: (90 + 20) * 60,
    waiting_since: null,
    handled_at: at('12:00'),
    handled_date: '2026-01-05',
    handled_seconds: 3 * 3600,
    handled_business_seconds: 2 * 3600,
    first_handled_at: at('12:00'),
    first_handled_seconds: 3 * 3600,
    reopens_seen: 0,
    history_from: at('9:00'),
    history_complete: true,
    is_one_touch: false,
  })
})

test('a conversation of which nothing is known', () => {
  expect(rowOf({ created: null })).toMatchObject({
    created_at: null,
    created_date: null,
    created_hour: null,
    is_complete: true,
    is_open: true,
    opened_by: null,
    answered_by: 'nobody',
    messages: 0,
    waits: 0,
    first_answer_seconds: null,
    first_human_at: null,
    human_span_seconds: null,
    last_human_name: null,
    longest_wait_seconds: null,
    total_wait_seconds: null,
    waiting_since: null,
    handled_seconds: null,
    first_handled_at: null,
    history_complete: false,
  })
})

describe('it is complete if all messages are known, each has a time, and each utterance a role', () => {
  const cases: Readonly<Record<string, readonly [conversation: ModelDay, isComplete: boolean]>> = {
    'all are': [{ lines: ['9:00 visitor', '9:01 event'] }, true],
    'the list was not complete': [{ lines: ['9:00 visitor'], isComplete: false }, false],
    'a message has no time': [{ lines: ['9:00 visitor', '- human'] }, false],
    'a sender is unknown': [{ lines: ['9:00 visitor', '9:01 other'] }, false],
  }
  test.each(Object.entries(cases))('%s', (_, [conversation, isComplete]) => {
    expect(rowOf(conversation).is_complete).toBe(isComplete)
  })
})

test('messages without a time count, but answer nobody', () => {
  expect(rowOf({ lines: ['9:00 visitor', '- human Anna'] })).toMatchObject({
    messages: 2,
    human_messages: 1,
    human_names: 1,
    answered_by: 'human',
    human_turns: 0,
    last_human_name: null,
    first_answer_seconds: null,
    waiting_since: at('9:00'),
  })
})

describe('a visitor waits while the conversation is open and its last wait has no end', () => {
  const cases: Readonly<Record<string, readonly [conversation: ModelDay, since: string | null]>> = {
    'no answer': [{ lines: ['9:00 visitor', '9:05 visitor'] }, '9:00'],
    'a later question': [{ lines: ['9:00 visitor', '9:05 ai', '9:10 visitor'] }, '9:10'],
    'an answer': [{ lines: ['9:00 visitor', '9:05 ai'] }, null],
    'handled before the last question': [{ lines: ['9:10 visitor'], handled: '9:05' }, null],
    'nobody asked': [{ lines: ['9:00 human'] }, null],
  }
  test.each(Object.entries(cases))('%s', (_, [conversation, since]) => {
    expect(rowOf(conversation).waiting_since).toBe(since === null ? null : at(since))
  })
})

describe('one touch: handled, one human turn, and not reopened as far as we saw', () => {
  const cases: Readonly<Record<string, readonly [conversation: ModelDay, isOneTouch: boolean]>> = {
    'one turn of two messages': [
      { lines: ['9:00 visitor', '9:05 human', '9:06 human'], handled: '9:10' },
      true,
    ],
    'two turns': [{ lines: ['9:00 human', '9:05 visitor', '9:06 human'], handled: '9:10' }, false],
    'only the AI answered': [{ lines: ['9:00 visitor', '9:05 ai'], handled: '9:10' }, false],
    'still open': [{ lines: ['9:00 visitor', '9:05 human'] }, false],
    'handled once more': [
      {
        lines: ['9:05 human'],
        handled: '11:00',
        changes: [{ old: '10:00', new: '11:00', seen: '12:00' }],
      },
      true,
    ],
    reopened: [
      {
        lines: ['9:05 human', '10:30 visitor'],
        handled: '11:00',
        changes: [{ old: '10:00', new: '11:00', seen: '12:00' }],
      },
      false,
    ],
  }
  test.each(Object.entries(cases))('%s', (_, [conversation, isOneTouch]) => {
    expect(rowOf(conversation).is_one_touch).toBe(isOneTouch)
  })
})

test('its history is complete if the mirror existed when it was created', () => {
  expect(rowOf({ created: '9:00' }, '8:00')).toMatchObject({
    history_from: at('9:00'),
    history_complete: true,
  })
  expect(rowOf({ created: '9:00' }, '9:00')).toMatchObject({
    history_from: at('9:00'),
    history_complete: true,
  })
  expect(rowOf({ created: '9:00' }, '9:30')).toMatchObject({
    history_from: at('9:30'),
    history_complete: false,
  })
  expect(rowOf({ created: null }, '9:30')).toMatchObject({
    history_from: at('9:30'),
    history_complete: false,
  })
})

test('who wrote how much, day by day; names only of humans and the AI', () => {
  const lines = [
    '9:00 visitor Zoe',
    '9:01 human Anna',
    '9:02 human Ben',
    '9:03 human Anna',
    '9:04 visitor Zoe',
    '9:05 event',
  ]
  const shown = factsOf({ lines }).contributions.map(
    ({ role, name, messages }) => `${role} ${name} ${messages}`,
  )
  expect(shown).toEqual(['visitor  2', 'human Anna 2', 'human Ben 1', 'event  1'])
})

test('a conversation over midnight has contributions of two days', () => {
  const midnight = at('0:00') + 86_400
  const messages = [midnight - 60, midnight, midnight + 60].map(
    (time, id) => ({ id, at: time, role: 'ai', name: 'Bot' }) as const,
  )
  const { contributions } = deriveConversationFacts(
    { ...historyOf({}), messages },
    calendar,
    at('0:00'),
  )
  expect(
    contributions.map(({ date, messages: count, first_at }) => [date, count, first_at]),
  ).toEqual([
    ['2026-01-05', 1, midnight - 60],
    ['2026-01-06', 2, midnight],
  ])
})

describe('whatever the conversation', () => {
  const time = fc.integer({ min: at('0:00'), max: at('0:00') + 200_000 })
  const maybeTime = fc.option(time, { freq: 5 })
  const roles: readonly AuthorRole[] = ['visitor', 'human', 'ai', 'other', 'event']
  const message = fc.record({
    id: fc.nat(1000),
    at: maybeTime,
    role: fc.constantFrom(...roles),
    name: fc.constantFrom('Anna', 'Ben', ''),
  })
  const handledChange = {
    old: maybeTime,
    new: maybeTime,
    oldReadAt: time,
    seenAt: time,
    oldLastMessageAt: maybeTime,
    newLastMessageAt: maybeTime,
  }
  const history: fc.Arbitrary<ConversationHistory> = fc.record({
    id: fc.constant('c1'),
    visitorId: fc.constant('v1'),
    origin: fc.constant(null),
    assignedAgentId: fc.constant(null),
    createdAt: maybeTime,
    handledAt: maybeTime,
    isMessagesComplete: fc.boolean(),
    messages: fc.uniqueArray(message, { selector: ({ id }) => id, maxLength: 20 }),
    handledChanges: fc.array(fc.record(handledChange), {
      maxLength: 4,
    }),
    assignmentChanges: fc.constant([]),
  })
  const forAll = (check: (history: ConversationHistory) => void) =>
    fc.assert(fc.property(history, check), { numRuns: 300 })
  const derive = (given: ConversationHistory) =>
    deriveConversationFacts(given, calendar, at('1:00'))
  const sum = (numbers: readonly (number | null)[]) =>
    numbers.reduce<number>((total, value) => total + (value ?? 0), 0)

  test('messages add up: by role, and by day and writer', () => {
    forAll((given) => {
      const { conversation: row, contributions } = derive(given)
      const { visitor_messages, human_messages, ai_messages, other_messages, system_events } = row
      expect(
        sum([visitor_messages, human_messages, ai_messages, other_messages, system_events]),
      ).toBe(row.messages)
      const timed = given.messages.filter((message) => message.at !== null).length
      expect(sum(contributions.map(({ messages }) => messages))).toBe(timed)
    })
  })

  test('waits are the visitor’s turns, and add up', () => {
    forAll((given) => {
      const { conversation: row, waits } = derive(given)
      expect(row.waits).toBe(waits.length)
      expect(sum(waits.map(({ messages }) => messages))).toBeLessThanOrEqual(row.visitor_messages)
      expect(sum(waits.map(({ answer_seconds }) => answer_seconds))).toBe(
        row.total_wait_seconds ?? 0,
      )
      expect(sum(waits.map(({ human_seconds }) => human_seconds))).toBe(
        row.total_human_wait_seconds ?? 0,
      )
      const answeredAt = waits
        .map(({ human_answered_at }) => human_answered_at)
        .filter((answeredTime) => answeredTime !== null)
      expect(answeredAt.length).toBeLessThanOrEqual(row.human_turns)
    })
  })

  test('no duration is negative, and business time is never longer', () => {
    forAll((given) => {
      const { waits, states } = derive(given)
      const durations = [
        ...waits.map((wait) => [wait.answer_business_seconds, wait.answer_seconds] as const),
        ...waits.map((wait) => [wait.human_business_seconds, wait.human_seconds] as const),
        ...waits.map((wait) => [wait.after_ai_business_seconds, wait.after_ai_seconds] as const),
        ...states.map((state) => [state.business_seconds, state.seconds] as const),
      ]
      for (const [business, all] of durations) {
        if (business === null || all === null) expect([business, all]).toEqual([null, null])
        else expect([business >= 0, business <= all]).toEqual([true, true])
      }
    })
  })

  test('states touch, and the last one is the present', () => {
    forAll((given) => {
      const { states, conversation: row } = derive(given)
      const starts = states.map(({ from_at }) => from_at)
      expect(states.map(({ to_at }) => to_at)).toEqual(
        states.length === 0 ? [] : [...starts.slice(1), null],
      )
      if (given.createdAt !== null)
        expect(states.at(-1)?.state).toBe(row.is_open ? 'open' : 'handled')
    })
  })

  test('the order of the messages makes no difference', () => {
    forAll((given) => {
      const reversed = { ...given, messages: given.messages.toReversed() }
      expect(derive(reversed)).toEqual(derive(given))
    })
  })
})
