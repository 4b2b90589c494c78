/** Waits: when a visitor begins to wait, what ends it, and how long it took on either clock. */
import { describe, expect, test } from 'vitest'
import { clockOf, factsOf } from './conversations-on-a-day.ts'

const waitsOf = (lines: readonly string[], handled: string | null = null) =>
  factsOf({ lines, handled }).waits

describe('a wait begins with the first message of a run of the visitor’s, and ends with the next answer', () => {
  const shown = (lines: readonly string[], handled?: string) =>
    waitsOf(lines, handled).map(({ started_at, messages, ended_by, ended_at }) =>
      `${clockOf(started_at)} ${messages} → ${ended_by} ${clockOf(ended_at) ?? ''}`.trim(),
    )

  const cases: Readonly<
    Record<
      string,
      readonly [lines: readonly string[], handled: string | undefined, waits: readonly string[]]
    >
  > = {
    'nobody wrote': [[], undefined, []],
    'only a human wrote': [['9:00 human'], undefined, []],
    'one question, no answer': [['9:00 visitor'], undefined, ['09:00 1 → nobody']],
    'one answer': [['9:00 visitor', '9:05 human'], undefined, ['09:00 1 → human 09:05']],
    'three questions in a row': [
      ['9:00 visitor', '9:01 visitor', '9:02 visitor', '9:05 ai'],
      undefined,
      ['09:00 3 → ai 09:05'],
    ],
    'two waits': [
      ['9:00 visitor', '9:05 ai', '9:06 visitor', '9:20 human'],
      undefined,
      ['09:00 1 → ai 09:05', '09:06 1 → human 09:20'],
    ],
    'two answers to one question': [
      ['9:00 visitor', '9:05 ai', '9:06 human'],
      undefined,
      ['09:00 1 → ai 09:05'],
    ],
    'handled without an answer': [['9:00 visitor'], '9:30', ['09:00 1 → handled 09:30']],
    'handled within the same minute': [['9:00 visitor'], '9:00', ['09:00 1 → handled 09:00']],
    'handled before the question': [['9:00 visitor'], '8:30', ['09:00 1 → nobody']],
    'answered, then handled': [['9:00 visitor', '9:05 human'], '9:30', ['09:00 1 → human 09:05']],
    'events and unknown senders interrupt nothing': [
      ['9:00 visitor', '9:01 event', '9:02 other', '9:03 visitor', '9:05 human'],
      undefined,
      ['09:00 2 → human 09:05'],
    ],
    'messages without a time are left out': [
      ['- visitor', '9:05 human', '- human', '9:10 visitor'],
      undefined,
      ['09:10 1 → nobody'],
    ],
    'messages in another order': [
      ['9:05 human', '9:00 visitor'],
      undefined,
      ['09:00 1 → human 09:05'],
    ],
    'in one second the lower id is first': [
      ['9:00 visitor', '9:00 human'],
      undefined,
      ['09:00 1 → human 09:00'],
    ],
  }
  test.each(Object.entries(cases))('%s', (_, [lines, handled, waits]) =>
    expect(shown(lines, handled)).toEqual(waits),
  )
})

test('a wait within one second was open then, if the conversation was', () => {
  const openFrom = (conversation: Parameters<typeof factsOf>[0]) =>
    factsOf(conversation).waits.map(({ open_from_date, open_from_hour }) => [
      open_from_date,
      open_from_hour,
    ])
  const isOpen = [['2026-01-05', 9]]
  expect(openFrom({ lines: ['9:00 visitor', '9:00 human'] })).toEqual(isOpen)
  expect(openFrom({ lines: ['9:00 visitor'], handled: '9:00' })).toEqual(isOpen)
  expect(openFrom({ lines: ['9:30 visitor', '9:30 human'], handled: '9:10' })).toEqual([
    [null, null],
  ])
})

test('waits are numbered; dates, hours and names are those of the messages', () => {
  expect(waitsOf(['9:00 visitor', '9:05 human Anna', '23:30 visitor', '23:50 ai'])).toMatchObject([
    {
      conversation_id: 'c1',
      wait_number: 1,
      started_date: '2026-01-05',
      started_hour: 9,
      ended_date: '2026-01-05',
      ended_hour: 9,
      ended_by_name: 'Anna',
      human_answered_date: '2026-01-05',
      human_answered_hour: 9,
      human_name: 'Anna',
    },
    { wait_number: 2, started_hour: 23, ended_hour: 23, ended_by_name: '', human_name: null },
  ])
})

describe('the first clock runs until the next answer, in calendar and business time', () => {
  const answers = (lines: readonly string[], handled?: string) =>
    waitsOf(lines, handled).map((wait) => [wait.answer_seconds, wait.answer_business_seconds])

  test('business is open from 10:00 to 18:00', () => {
    expect(answers(['9:00 visitor', '9:05 human', '9:50 visitor', '10:20 ai'])).toEqual([
      [300, 0],
      [1800, 1200],
    ])
  })

  test('without an answer there is no time, also if the conversation was handled', () => {
    expect(answers(['9:00 visitor'])).toEqual([[null, null]])
    expect(answers(['9:00 visitor'], '9:30')).toEqual([[null, null]])
  })
})

describe('the second clock runs until the next human answer, however many AI answers come before', () => {
  /**
   * When it began, minutes to the human, AI answers meanwhile, and minutes since the AI had last
   * spoken.
   */
  const shown = (lines: readonly string[]) =>
    waitsOf(lines).map(({ started_at, human_seconds, ai_answers, after_ai_seconds }) =>
      human_seconds === null
        ? `${clockOf(started_at)} –`
        : `${clockOf(started_at)} ${human_seconds / 60} ai ${ai_answers} after ${after_ai_seconds === null ? '–' : after_ai_seconds / 60}`,
    )

  const cases: Readonly<
    Record<string, readonly [lines: readonly string[], waits: readonly string[]]>
  > = {
    'a human answers': [['9:00 visitor', '9:05 human'], ['09:00 5 ai 0 after –']],
    'only the AI answers': [['9:00 visitor', '9:01 ai'], ['09:00 –']],
    'the AI answers, the visitor insists, a human answers': [
      ['9:00 visitor', '9:01 ai', '9:02 visitor', '9:12 human'],
      ['09:00 12 ai 1 after 10', '09:02 –'],
    ],
    'the AI hands over, and no question follows': [
      ['9:00 visitor', '9:01 ai', '9:02 ai', '9:12 human'],
      ['09:00 12 ai 1 after 10'],
    ],
    'two AI answers': [
      ['9:00 visitor', '9:01 ai', '9:02 visitor', '9:03 ai', '9:04 visitor', '9:12 human'],
      ['09:00 12 ai 2 after 8', '09:02 –', '09:04 –'],
    ],
    'the next human answer has a wait of its own': [
      ['9:00 visitor', '9:05 human', '9:10 visitor', '9:11 ai', '9:12 visitor', '9:20 human'],
      ['09:00 5 ai 0 after –', '09:10 10 ai 1 after 8', '09:12 –'],
    ],
    'the AI had greeted before the question': [
      ['9:00 ai', '9:01 visitor', '9:06 human'],
      ['09:01 5 ai 0 after –'],
    ],
    'two human turns with the AI between them': [
      ['9:00 visitor', '9:05 human', '9:06 ai', '9:07 human'],
      ['09:00 5 ai 0 after –'],
    ],
  }
  test.each(Object.entries(cases))('%s', (_, [lines, waits]) => expect(shown(lines)).toEqual(waits))

  test('in business time as well', () => {
    const [wait] = waitsOf(['9:00 visitor', '9:55 ai', '10:30 human'])
    expect(wait).toMatchObject({
      human_business_seconds: 1800,
      after_ai_seconds: 2100,
      after_ai_business_seconds: 1800,
    })
  })
})
