/**
 * Waits, states and days of conversations that are handled several times, seen by syncs that come
 * late.
 */
import { describe, expect, test } from 'vitest'
import { type RandomChoices, seededChoices } from '../../support/analytics-model/random-choices.ts'
import {
  dayNumbers,
  factsAfter,
  type HandlingEvent,
  type Mirrored,
  mirrorOf,
  time,
} from './handling-worlds.ts'

/** `2026-09-01T10:00:00 visitor`. */
const eventsOf = (lines: readonly string[]): HandlingEvent[] =>
  lines.map((line) => {
    const [at = '', what = ''] = line.split(' ')
    return { at: time(at), what: what as HandlingEvent['what'] }
  })

/** The facts after each sync. */
function factsOf(lines: readonly string[], visitorReopens = true) {
  const events = eventsOf(lines)
  return mirrorOf(events, { visitorReopens }).map((mirrored) => factsAfter(events, mirrored))
}

const text = (at: number | null) =>
  at === null ? '' : new Date(at * 1000).toISOString().slice(0, 19)

const thanks = [
  ...['2026-09-01T08:00:00 visitor', '2026-09-01T08:05:00 human', '2026-09-01T10:00:00 visitor'],
  ...['2026-09-01T10:10:00 handle', '2026-09-01T12:00:00 sync'],
]
const newQuestion = [...thanks, '2026-10-01T10:06:06 visitor', '2026-10-01T10:07:00 sync']
const answered = [...newQuestion, '2026-10-01T10:11:06 human', '2026-10-01T12:00:00 sync']

describe.each([
  ['a message of the visitor reopens', true],
  ['a message of the visitor does not reopen', false],
])('thanks, handled, and a new question a month later, where %s', (_, visitorReopens) => {
  test('are two waits, each dated by itself', () => {
    const waits = factsOf(answered, visitorReopens).at(-1)?.waits ?? []
    const shown = waits.slice(1).map((wait) => {
      const seconds = (wait.ended_at ?? 0) - wait.started_at
      return [wait.started_date, wait.ended_by, seconds, wait.answer_seconds, wait.human_seconds]
    })
    expect(shown).toEqual([
      ['2026-09-01', 'handled', 600, null, null],
      ['2026-10-01', 'human', 300, 300, 300],
    ])
  })

  test('nobody waits from one to the other', () => {
    const facts = factsOf(answered, visitorReopens).at(-1)
    for (const date of ['2026-09-01', '2026-09-15', '2026-09-30'])
      expect(facts && dayNumbers(facts, date)).toMatchObject({ openAtEnd: 0, waitingAtEnd: 0 })
  })

  test('before the answer, the visitor of an open conversation has waited since the new question', () => {
    const { conversation, waits } = factsOf(newQuestion, visitorReopens).at(-1) ?? {}
    expect(text(waits?.at(-1)?.started_at ?? null)).toBe('2026-10-01T10:06:06')
    expect(text(conversation?.waiting_since ?? null)).toBe(
      visitorReopens ? '2026-10-01T10:06:06' : '',
    )
  })

  test('a handling of October leaves September as it was', () => {
    const october = [...newQuestion, '2026-10-02T09:00:00 handle', '2026-10-02T12:00:00 sync']
    const [inSeptember, , later] = factsOf(october, visitorReopens)
    expect(later?.waits[1]).toEqual(inSeptember?.waits[1])
    expect(later?.waits.at(-1)).toMatchObject({ started_date: '2026-10-01', ended_by: 'handled' })
  })
})

test('the AI answers, it is handled, and 34 days later a human answers in 301 seconds', () => {
  const [facts] = factsOf([
    ...['2026-09-02T02:05:00 visitor', '2026-09-02T02:05:05 ai', '2026-09-02T02:15:00 handle'],
    ...['2026-10-05T12:46:06 visitor', '2026-10-05T12:51:07 human', '2026-10-05T13:00:00 sync'],
  ]).slice(-1)
  // Of the handling nothing is known, as no sync saw it.
  expect(facts?.conversation).toMatchObject({
    first_human_seconds: 2_889_967,
    first_answer_seconds: 5,
  })
  const [seen] = factsOf([
    ...['2026-09-02T02:05:00 visitor', '2026-09-02T02:05:05 ai', '2026-09-02T02:15:00 handle'],
    ...['2026-09-02T03:00:00 sync', '2026-10-05T12:46:06 visitor', '2026-10-05T12:51:07 human'],
    '2026-10-05T13:00:00 sync',
  ]).slice(-1)
  expect(seen?.conversation).toMatchObject({
    first_human_seconds: 301,
    first_answer_seconds: 5,
    reopens_seen: 1,
  })
  expect(seen?.waits.map(({ human_seconds, ai_answers }) => [human_seconds, ai_answers])).toEqual([
    [null, null],
    [301, 0],
  ])
})

test('a handling that is repeated on a handled conversation is no reopening', () => {
  const [, facts] = factsOf([
    ...['2026-09-01T10:00:00 visitor', '2026-09-01T10:05:00 human', '2026-09-01T10:10:00 handle'],
    ...['2026-09-01T11:00:00 sync', '2026-09-02T10:10:00 handle', '2026-09-02T11:00:00 sync'],
  ])
  expect(facts?.conversation).toMatchObject({ reopens_seen: 0, is_one_touch: true })
  expect(facts?.states.map(({ state }) => state)).toEqual(['open', 'handled'])
})

describe('a reopening is dated between the last reading that saw it handled and the first that saw it open', () => {
  const shown = (lines: readonly string[], visitorReopens: boolean) =>
    factsOf(lines, visitorReopens)
      .at(-1)
      ?.states.filter(({ state_number }) => state_number === 3)
      .map(({ from_at, began_by }) => `${text(from_at)} ${began_by}`)
  const handled = [
    '2026-09-01T10:00:00 human',
    '2026-09-01T10:10:00 handle',
    '2026-09-01T11:00:00 sync',
  ]
  const message = [...handled, '2026-09-02T10:00:00 visitor']

  test('at a message that reopens, and not at one that a reading showed beside the flag', () => {
    expect(shown([...message, '2026-09-02T12:00:00 sync'], true)).toEqual([
      '2026-09-02T10:00:00 message',
    ])
    const later = [
      ...message,
      '2026-09-02T12:00:00 sync',
      '2026-09-05T10:00:00 reopen',
      '2026-09-05T12:00:00 sync',
    ]
    expect(shown(later, false)).toEqual(['2026-09-05T12:00:00 seen'])
  })

  test('also if the message was there when it was first read', () => {
    const first = [
      '2026-09-01T10:00:00 human',
      '2026-09-01T10:10:00 handle',
      '2026-09-01T10:30:00 visitor',
    ]
    const later = [
      '2026-09-01T12:00:00 sync',
      '2026-09-05T10:00:00 reopen',
      '2026-09-05T12:00:00 sync',
    ]
    expect(shown([...first, ...later], false)).toEqual(['2026-09-05T12:00:00 seen'])
  })
})

describe('the flag is taken back without a message', () => {
  const mistake = [
    ...['2026-09-01T10:00:00 visitor', '2026-09-01T10:10:00 handle', '2026-09-01T11:00:00 sync'],
    ...['2026-09-03T09:00:00 reopen', '2026-09-03T12:00:00 sync'],
  ]
  const waitsOf = (lines: readonly string[]) =>
    factsOf(lines)
      .at(-1)
      ?.waits.map(({ started_at, messages, ended_by, ended_at, human_seconds }) =>
        [text(started_at), messages, ended_by, text(ended_at), human_seconds ?? '']
          .join(' ')
          .trim(),
      )

  test('whoever was never answered waits again from then on, and the wait that the handling ended stays', () => {
    const facts = factsOf(mistake).at(-1)
    expect(text(facts?.conversation.waiting_since ?? null)).toBe('2026-09-03T12:00:00')
    expect(facts?.conversation).toMatchObject({
      waits: 2,
      visitor_messages: 1,
      last_utterance_at: time('2026-09-01T10:00:00'),
    })
    expect(waitsOf(mistake)).toEqual([
      '2026-09-01T10:00:00 1 handled 2026-09-01T10:10:00',
      '2026-09-03T12:00:00 0 nobody',
    ])
    const waiting = (date: string) => facts && dayNumbers(facts, date).waitingAtEnd
    expect(['2026-09-01', '2026-09-02', '2026-09-03', '2026-09-04'].map(waiting)).toEqual([
      0, 0, 1, 1,
    ])
  })

  test('that wait ends with an answer, with the handling after it, or goes on with the next question', () => {
    const answered = [...mistake, '2026-09-03T12:10:00 human', '2026-09-03T13:00:00 sync']
    expect(waitsOf(answered)?.at(-1)).toBe('2026-09-03T12:00:00 0 human 2026-09-03T12:10:00 600')
    const handled = [...mistake, '2026-09-03T12:10:00 handle', '2026-09-03T13:00:00 sync']
    expect(waitsOf(handled)?.at(-1)).toBe('2026-09-03T12:00:00 0 handled 2026-09-03T12:10:00')
    const asked = [
      ...mistake,
      '2026-09-03T12:10:00 visitor',
      '2026-09-03T12:20:00 human',
      '2026-09-03T13:00:00 sync',
    ]
    expect(waitsOf(asked)?.slice(1)).toEqual([
      '2026-09-03T12:00:00 1 human 2026-09-03T12:20:00 1200',
    ])
  })

  test('each time, also after a second mistake', () => {
    const again = [
      '2026-09-04T09:00:00 handle',
      '2026-09-04T10:00:00 sync',
      '2026-09-05T09:00:00 reopen',
    ]
    expect(waitsOf([...mistake, ...again, '2026-09-05T12:00:00 sync'])).toEqual([
      '2026-09-01T10:00:00 1 handled 2026-09-01T10:10:00',
      '2026-09-03T12:00:00 0 handled 2026-09-04T09:00:00',
      '2026-09-05T12:00:00 0 nobody',
    ])
  })

  test('whoever was answered does not wait', () => {
    const answered = [
      '2026-09-01T10:00:00 visitor',
      '2026-09-01T10:05:00 ai',
      '2026-09-01T10:10:00 handle',
    ]
    const later = [
      '2026-09-01T11:00:00 sync',
      '2026-09-03T09:00:00 reopen',
      '2026-09-03T12:00:00 sync',
    ]
    expect(factsOf([...answered, ...later]).at(-1)?.conversation).toMatchObject({
      waits: 1,
      waiting_since: null,
    })
  })
})

describe('a message that a reading showed beside the flag never dates a reopening', () => {
  const reopenedAt = (lines: readonly string[], clockBehind: number) => {
    const events = eventsOf(lines)
    const last = mirrorOf(events, {
      visitorReopens: false,
      namesLastMessage: true,
      clockBehind,
    }).at(-1)
    const states = last === undefined ? [] : factsAfter(events, last).states
    return states
      .filter(({ state_number }) => state_number === 3)
      .map((row) => `${text(row.from_at)} ${row.began_by}`)
  }
  const handled = ['2026-09-01T09:00:00 human', '2026-09-01T10:00:00 handle']
  const reopened = ['2026-09-05T10:00:00 reopen', '2026-09-05T12:00:00 sync']

  test('of the second of that reading', () => {
    const lines = [
      ...handled,
      '2026-09-01T11:00:00 visitor',
      '2026-09-01T11:00:00 sync',
      ...reopened,
    ]
    expect(reopenedAt(lines, 0)).toEqual(['2026-09-05T12:00:00 seen'])
  })

  test('when our clock is behind that of the service', () => {
    const lines = [
      ...handled,
      '2026-09-01T11:00:00 visitor',
      '2026-09-01T11:01:00 sync',
      ...reopened,
    ]
    expect(reopenedAt(lines, 120)).toEqual(['2026-09-05T11:58:00 seen'])
  })

  test('and one that came after it does, whatever our clock says', () => {
    const lines = [
      ...handled,
      '2026-09-01T11:00:00 sync',
      '2026-09-01T11:01:00 human',
      '2026-09-01T11:02:00 sync',
    ]
    for (const clockBehind of [-300, 0, 300])
      expect(reopenedAt(lines, clockBehind)).toEqual(['2026-09-01T11:01:00 message'])
  })
})

describe.each([true, false])(
  'in random worlds, where a message of the visitor reopens: %s',
  (visitorReopens) => {
    const worlds = Array.from({ length: 400 }, (_, n) => {
      const random = seededChoices(Number(process.env['SEED'] ?? 1) * 1000 + n)
      const events = randomEvents(random)
      const syncs = mirrorOf(events, { visitorReopens })
      return { syncs, facts: syncs.map((mirrored) => factsAfter(events, mirrored)) }
    })
    const allFacts = worlds.flatMap(({ facts }) => facts)
    const allSyncs = worlds.flatMap(({ syncs, facts }) =>
      facts.map((of, n) => ({ ...of, sync: syncs[n] as Mirrored })),
    )

    test('the three ends of waits, and those without one, add up to the waits', () => {
      for (const { waits } of allFacts) {
        const ended = waits.filter(({ ended_by }) => ['human', 'ai', 'handled'].includes(ended_by))
        const ongoing = waits.filter(({ ended_at }) => ended_at === null)
        expect(ended.length + ongoing.length).toBe(waits.length)
        expect(ongoing.length).toBeLessThanOrEqual(1)
      }
    })

    test('the numbers of a day that a sync has seen end stay as they are, unless a message of that time comes late', () => {
      for (const { syncs, facts } of worlds) {
        for (const [n, before] of facts.entries()) {
          const [known, next, after] = [syncs[n], syncs[n + 1], facts[n + 1]]
          if (known === undefined || next === undefined || after === undefined) continue
          const ids = new Set(known.messages.map(({ id }) => id))
          const isNew = ({ id }: { readonly id: number }) => !ids.has(id)
          const dates = daysBefore(
            Math.min(known.syncedAt, ...next.messages.filter(isNew).map(({ at }) => at ?? 0)),
          )
          expect(dates.map((date) => dayNumbers(after, date))).toEqual(
            dates.map((date) => dayNumbers(before, date)),
          )
        }
      }
    })

    test('at the end of no day more visitors wait than conversations are open', () => {
      for (const { sync, ...facts } of allSyncs) {
        for (const date of daysBefore(sync.syncedAt + 86_400)) {
          const { openAtEnd, waitingAtEnd } = dayNumbers(facts, date)
          expect(waitingAtEnd).toBeLessThanOrEqual(openAtEnd)
        }
      }
    })

    test('no wait spans a handling that the mirror knows, on either clock', () => {
      for (const { sync, waits } of allSyncs) {
        const known = [
          sync.handledAt,
          ...sync.handledChanges.flatMap((change) => [change.old, change.new]),
        ]
        for (const { started_at, ended_at, human_answered_at } of waits) {
          const to = Math.max(ended_at ?? Number.POSITIVE_INFINITY, human_answered_at ?? 0)
          expect(known.filter((at) => at !== null && at >= started_at && at < to)).toEqual([])
        }
      }
    })

    test('a reopening lies between two readings of which only the second saw it open, or before a repeated handling', () => {
      for (const { sync, states } of allSyncs) {
        const reopenings = states.filter(
          ({ state, state_number }) => state === 'open' && state_number > 1,
        )
        const possible = sync.handledChanges.filter(({ old }) => old !== null)
        for (const { from_at, began_by } of reopenings) {
          const between = possible.filter(
            ({ oldReadAt, seenAt }) => from_at >= oldReadAt && from_at <= seenAt,
          )
          expect(between.length).toBeGreaterThan(0)
          if (began_by === 'seen') expect(between.map(({ seenAt }) => seenAt)).toContain(from_at)
          else expect(sync.messages.map(({ at }) => at)).toContain(from_at)
        }
      }
    })
  },
)

const firstDay = time('2026-09-01T00:00:00')

/** The dates that had ended at that time. */
function daysBefore(at: number): string[] {
  const days = Math.floor((at - firstDay) / 86_400)
  return Array.from({ length: days }, (_, n) => text(firstDay + n * 86_400).slice(0, 10))
}

/** Some days of messages, handlings and reopenings; syncs come at other seconds than all else. */
function randomEvents({ chance, int, pick }: RandomChoices): HandlingEvent[] {
  const events: HandlingEvent[] = []
  let at = firstDay + 2 * int(0, 20_000)
  for (let count = int(3, 14); count > 0; count--) {
    const isLate = chance(0.05)
    events.push({
      isLate,
      at,
      what: pick([
        'visitor',
        'visitor',
        'visitor',
        'human',
        'ai',
        'handle',
        'handle',
        'reopen',
        'event',
      ]),
    })
    if (chance(0.5)) events.push({ at: at + 1, what: 'sync' })
    at += 2 * pick([0, 30, 300, 4000, 20_000, 60_000, 200_000])
  }
  return [...events.toSorted((a, b) => a.at - b.at), { at: at + 1, what: 'sync' }]
}
