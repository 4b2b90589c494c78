/**
 * Open and handled: what is known of the past of a conversation whose service shows only the
 * present.
 */
import { describe, expect, test } from 'vitest'
import { clockOf, factsOf, type ModelDay } from './conversations-on-a-day.ts'

const shown = (conversation: ModelDay) =>
  factsOf(conversation).states.map(
    ({ state, from_at, to_at, began_by }) =>
      `${state} ${clockOf(from_at)}–${clockOf(to_at) ?? ''} ${began_by}`,
  )

const cases: Readonly<
  Record<string, readonly [conversation: ModelDay, states: readonly string[]]>
> = {
  'never handled': [{}, ['open 09:00– created']],
  handled: [{ handled: '10:00' }, ['open 09:00–10:00 created', 'handled 10:00– service']],
  'without a creation time nothing is known': [{ created: null, handled: '10:00' }, []],
  'handled before it was created, by the service’s times': [
    { handled: '8:00' },
    ['open 08:00–08:00 created', 'handled 08:00– service'],
  ],
  'reopened by a message': [
    { lines: ['10:30 visitor'], changes: [{ old: '10:00', new: null, seen: '11:00' }] },
    ['open 09:00–10:00 created', 'handled 10:00–10:30 service', 'open 10:30– message'],
  ],
  'a message at the very time of the handling does not reopen it': [
    {
      lines: ['10:00 human', '10:30 visitor'],
      changes: [{ old: '10:00', new: null, seen: '11:00' }],
    },
    ['open 09:00–10:00 created', 'handled 10:00–10:30 service', 'open 10:30– message'],
  ],
  'reopened without a message: when we saw it': [
    { changes: [{ old: '10:00', new: null, seen: '11:00' }] },
    ['open 09:00–10:00 created', 'handled 10:00–11:00 service', 'open 11:00– seen'],
  ],
  'a message after we had seen it reopened did not reopen it': [
    { lines: ['11:30 visitor'], changes: [{ old: '10:00', new: null, seen: '11:00' }] },
    ['open 09:00–10:00 created', 'handled 10:00–11:00 service', 'open 11:00– seen'],
  ],
  'reopened and handled again between two readings': [
    {
      lines: ['10:30 visitor'],
      handled: '12:00',
      changes: [{ old: '10:00', new: '12:00', seen: '12:30' }],
    },
    [
      ...['open 09:00–10:00 created', 'handled 10:00–10:30 service'],
      ...['open 10:30–12:00 message', 'handled 12:00– service'],
    ],
  ],
  'no message after the second handling reopened the first': [
    {
      lines: ['12:10 visitor'],
      handled: '12:00',
      changes: [{ old: '10:00', new: '12:00', seen: '12:30' }],
    },
    ['open 09:00–10:00 created', 'handled 10:00– service'],
  ],
  'a message that a reading showed beside the flag did not reopen it': [
    {
      lines: ['10:30 visitor'],
      changes: [{ old: '10:00', new: null, read: '10:40', seen: '11:00' }],
    },
    ['open 09:00–10:00 created', 'handled 10:00–11:00 service', 'open 11:00– seen'],
  ],
  'open at a reading, and handled again with the time of before: when we saw it': [
    {
      handled: '10:00',
      changes: [
        { old: '10:00', new: null, seen: '10:30' },
        { old: null, new: '10:00', seen: '11:00' },
      ],
    },
    [
      ...['open 09:00–10:00 created', 'handled 10:00–10:30 service'],
      ...['open 10:30–11:00 seen', 'handled 11:00– seen'],
    ],
  ],
  'our clock is ahead, so that we saw it reopened after it was handled again': [
    {
      handled: '11:00',
      changes: [
        { old: '10:00', new: null, seen: '11:30' },
        { old: null, new: '11:00', seen: '12:00' },
      ],
    },
    [
      ...['open 09:00–10:00 created', 'handled 10:00–11:00 service'],
      ...['open 11:00–11:00 seen', 'handled 11:00– service'],
    ],
  ],
  'our clock is behind, so that we saw it reopened before it was handled': [
    { changes: [{ old: '10:00', new: null, seen: '9:58' }] },
    ['open 09:00–10:00 created', 'handled 10:00–10:00 service', 'open 10:00– seen'],
  ],
  'the service withdrew a later handling for an earlier one: what was seen stays': [
    { handled: '10:00', changes: [{ old: '11:00', new: '10:00', seen: '11:30' }] },
    ['open 09:00–11:00 created', 'handled 11:00– service'],
  ],
}

describe('spans', () => {
  test.each(Object.entries(cases))('%s', (_, [conversation, states]) =>
    expect(shown(conversation)).toEqual(states),
  )

  test.each(Object.entries(cases))(
    'touch, and the last one is the present state: %s',
    (_, [conversation]) => {
      const { states, conversation: row } = factsOf(conversation)
      for (const [index, state] of states.entries()) {
        expect(state.state_number).toBe(index + 1)
        expect(state.to_at).toBe(states[index + 1]?.from_at ?? null)
        expect(state.state).toBe(index % 2 === 0 ? 'open' : 'handled')
      }
      if (states.length > 0) expect(states.at(-1)?.state === 'open').toBe(row.is_open)
    },
  )

  test('they have dates, hours and both durations; the present one has no end', () => {
    expect(factsOf({ handled: '11:00' }).states).toMatchObject([
      {
        from_date: '2026-01-05',
        from_hour: 9,
        to_date: '2026-01-05',
        seconds: 7200,
        business_seconds: 3600,
      },
      { from_hour: 11, to_at: null, to_date: null, seconds: null, business_seconds: null },
    ])
  })
})
