/**
 * To whom a conversation was assigned, and between which two readings that began and ended: the
 * service shows only the present agent.
 */
import { describe, expect, test } from 'vitest'
import { clockOf, factsOf, type ModelDay } from './conversations-on-a-day.ts'

/** `agent: after – from … last seen – to`. */
const shown = (conversation: ModelDay) =>
  factsOf(conversation, '8:00').assignments.map((row) => {
    const [after, from, seen, to] = (
      ['not_before_at', 'from_at', 'last_seen_at', 'to_at'] as const
    ).map((column) => clockOf(row[column]) ?? '')
    return `${row.assigned_agent_id}: ${after}–${from}, ${seen}–${to}`
  })

const cases: Readonly<
  Record<string, readonly [conversation: ModelDay, assignments: readonly string[]]>
> = {
  'never assigned': [{}, []],
  'assigned when it was first read': [{ agent: 'a' }, ['a: 09:00–09:00, –']],
  'older than the mirror: it may have been assigned any time since it was created': [
    { agent: 'a', created: '7:00' },
    ['a: 07:00–08:00, –'],
  ],
  'without a creation time': [{ agent: 'a', created: null }, ['a: –08:00, –']],
  'assigned later, between two readings': [
    { agent: 'a', agents: [{ old: null, new: 'a', read: '9:30', seen: '10:00' }] },
    ['a: 09:30–10:00, –'],
  ],
  'handed over': [
    { agent: 'b', agents: [{ old: 'a', new: 'b', read: '9:30', seen: '10:00' }] },
    ['a: 09:00–09:00, 09:30–10:00', 'b: 09:30–10:00, –'],
  ],
  'taken back, and assigned again': [
    {
      agent: 'b',
      agents: [
        { old: 'a', new: null, read: '9:30', seen: '10:00' },
        { old: null, new: 'b', read: '10:30', seen: '11:00' },
      ],
    },
    ['a: 09:00–09:00, 09:30–10:00', 'b: 10:30–11:00, –'],
  ],
  'no earlier reading is known than the one that first showed the agent': [
    {
      agent: 'c',
      agents: [
        { old: 'a', new: 'b', seen: '10:00' },
        { old: 'b', new: 'c', seen: '11:00' },
      ],
    },
    ['a: 09:00–09:00, 09:00–10:00', 'b: 09:00–10:00, 10:00–11:00', 'c: 10:00–11:00, –'],
  ],
  'our clock is behind that of the service': [
    { agent: 'b', agents: [{ old: 'a', new: 'b', read: '8:30', seen: '8:40' }] },
    ['a: 09:00–08:40, 08:40–08:40', 'b: 08:40–08:40, –'],
  ],
}

describe('assignments', () => {
  test.each(Object.entries(cases))('%s', (_, [conversation, assignments]) => {
    expect(shown(conversation)).toEqual(assignments)
  })

  test('last until the reading that showed another', () => {
    const { assignments } = factsOf({
      agent: 'b',
      agents: [{ old: 'a', new: 'b', read: '9:30', seen: '10:00' }],
    })
    expect(assignments.map(({ seconds }) => seconds)).toEqual([3600, null])
  })
})
