/**
 * What a write-back would do, judged before it is sent: every operation with every state of its
 * target.
 */
import { describe, expect, test } from 'vitest'
import type { MirroredTarget } from '../../src/outbox/core/field-kinds.ts'
import type { Writeback } from '../../src/outbox/core/outbox-entry.ts'
import {
  findObstacleInMirror,
  noOwnEdits,
  type ReviewFacts,
} from '../../src/outbox/core/review/guards.ts'
import { emptyLane, reviewRow } from '../../src/outbox/core/review/review.ts'
import { createReviewCounter } from '../../src/outbox/core/review/summary.ts'
import type { ReviewRow, WritebackReview } from '../../src/outbox/core/review/terms.ts'
import { parseRequest } from '../../src/outbox/core/writeback-request.ts'
import { storedWriteback } from './stored-writeback.ts'

const c = '7d1f4f6e-5a2b-4c3d-8e9f-0a1b2c3d4e5f'
const v = '9b534922-9bbc-4b2d-b6dc-8c0443f61457'
const now = Date.parse('2026-06-01T12:00:00Z')

type Line = Readonly<Record<string, unknown>>
const reply: Line = {
  operation: 'message',
  conversation_id: c,
  content: 'We have found it.',
  sender_name: 'Ann',
}
const handle: Line = { operation: 'handled', conversation_id: c, handled: true }
const reopen: Line = { ...handle, handled: false }
const correct = (fields: Line): Line => ({ operation: 'visitor', visitor_id: v, ...fields })
const note: Line = { operation: 'note', visitor_id: v, content: 'Asked for an invoice.' }

const open: MirroredTarget = {
  syncedAt: '2026-06-01T11:00:00Z',
  isDeleted: false,
  handledAt: null,
  visitorName: 'Ada',
  lastMessageAt: '2026-05-31T10:00:00Z',
  lastMessageSenderType: 'visitor',
  lastVisitorMessage: { id: '12', at: '2026-05-31T10:00:00Z', text: 'Where is  my\norder?' },
}
const handled: MirroredTarget = { ...open, handledAt: '2026-05-31T11:00:00Z' }
const ada: MirroredTarget = {
  syncedAt: '2026-06-01T11:00:00Z',
  isDeleted: false,
  name: 'Ada',
  email: 'ada@example.org',
  visitorName: 'Ada',
  lastVisitorMessage: null,
}
/** Nobody has done anything meanwhile. */
const unchanged = {
  isRefQueued: false,
  mirrorAsOf: null,
  expectedMessage: null,
  newerMessages: [],
  requeuedAt: null,
  isNewSender: false,
  ...noOwnEdits,
}

function rowOf(line: Line, position = 1, own: Partial<Writeback> | null = null): ReviewRow {
  const place = position
  const { operation, conversation_id, visitor_id } = line as { [field: string]: string }
  const target = conversation_id ?? visitor_id!
  return {
    position,
    place,
    operation: operation as never,
    target,
    request: parseRequest(line),
    queued: own && storedWriteback(line as never, own),
  }
}

/** Reviews lines of one lane, one after another. */
function review(
  target: MirroredTarget | null,
  lines: readonly Line[],
  facts: Partial<ReviewFacts> = {},
) {
  let lane = emptyLane
  return lines.map((line, index) => {
    const row = rowOf(line, index + 1)
    const result = reviewRow(
      row,
      {
        ...unchanged,
        target,
        // Nobody has written since the person looked.
        conversation: target && { ...target, lastVisitorMessage: null },
        ...facts,
      },
      lane,
      now,
    )
    lane = result.lane
    return result.review
  })
}

/** `would_change: open → handled` */
function inShort({ outcome, reason, changes }: WritebackReview): string {
  const words = (value: unknown) =>
    value === true ? 'handled' : value === false ? 'open' : String(value)
  const steps = changes.map(
    ({ field, old, new: wanted }) => `${field} ${words(old)} → ${words(wanted)}`,
  )
  return [outcome, reason, ...steps].filter((part) => part !== null).join(', ')
}

describe('one row', () => {
  test.each<[string, Line, MirroredTarget | null, string]>([
    ['a reply to an open conversation', reply, open, 'would_send'],
    ['a reply to a handled one reopens it', reply, handled, 'would_send, handled handled → open'],
    ['a reply to one that is not mirrored', reply, null, 'not_known, not_mirrored'],
    [
      'a reply to one that was deleted',
      reply,
      { ...open, isDeleted: true },
      'stands_against, deleted',
    ],
    ['marking an open one handled', handle, open, 'would_change, handled open → handled'],
    ['marking a handled one handled', handle, handled, 'already_so'],
    ['reopening a handled one', reopen, handled, 'would_change, handled handled → open'],
    ['reopening an open one', reopen, open, 'already_so'],
    ['a note', note, ada, 'would_send'],
    ['a note about a visitor who is not mirrored', note, null, 'not_known, not_mirrored'],
    ['a new name', correct({ name: 'Ada L.' }), ada, 'would_change, name Ada → Ada L.'],
    [
      'the same name and a cleared email',
      correct({ name: 'Ada', email: null }),
      ada,
      'would_change, email ada@example.org → null',
    ],
    ['what is so already', correct({ name: 'Ada', email: 'ada@example.org' }), ada, 'already_so'],
    ['another spelling is a change', correct({ name: 'ada' }), ada, 'would_change, name Ada → ada'],
    [
      'an expired row',
      { ...reply, expires_at: '2026-06-01T12:00:00Z' },
      open,
      'stands_against, expired',
    ],
    ['a row that SQL has made invalid', { ...reply, content: '' }, open, 'stands_against, invalid'],
  ])('%s', (_, line, target, expected) => {
    expect(review(target, [line]).map(inShort)).toEqual([expected])
  })

  test('shows names and words, shortened and on one line', () => {
    const [long] = review(open, [{ ...reply, content: `It is\n\n${'very '.repeat(40)}late.` }])
    expect(long).toMatchObject({
      visitorName: 'Ada',
      lastWords: { text: 'Where is my order?', at: '2026-05-31T10:00:00Z' },
      firstWords: expect.stringMatching(/^It is very very .{90,}ver…$/),
    })
    expect(long!.firstWords!.length).toBeLessThanOrEqual(120)
    expect(review(ada, [note])[0]).toMatchObject({
      visitorName: 'Ada',
      lastWords: null,
      firstWords: 'Asked for an invoice.',
    })
  })

  test('a row whose ref was queued before has no effect on the rows after it', () => {
    const [known] = review(handled, [{ ...reply, ref: 'a' }], { isRefQueued: true })
    expect([inShort(known!), known!.why]).toEqual([
      'stands_against, queued_before',
      'its ref a was queued before',
    ])
  })
})

describe('in the order of the file', () => {
  test('a flag behind a reply that reopens is not already set', () => {
    expect(review(handled, [reply, handle, handle]).map(inShort)).toEqual([
      'would_send, handled handled → open',
      'would_change, handled open → handled',
      'already_so',
    ])
  })

  test('a flag and its opposite', () => {
    expect(review(open, [handle, reopen, reopen, handle]).map(inShort)).toEqual([
      'would_change, handled open → handled',
      'would_change, handled handled → open',
      'already_so',
      'would_change, handled open → handled',
    ])
  })

  test('a correction starts from the one before it', () => {
    const lines = [
      correct({ name: 'Grace' }),
      correct({ name: 'Grace', email: null }),
      correct({ name: 'Ada' }),
    ]
    expect(review(ada, lines).map(inShort)).toEqual([
      'would_change, name Ada → Grace',
      'would_change, email ada@example.org → null',
      'would_change, name Grace → Ada',
    ])
  })

  test('each row names the one before it', () => {
    expect(review(open, [reply, note, handle]).map(({ after }) => after)).toEqual([null, 1, 2])
  })

  test('a flag is not sent after a reply that is not, until another reply is', () => {
    const expired = { ...reply, expires_at: '2026-01-01T00:00:00Z' }
    const reviews = review(open, [expired, handle, reopen, reply, handle])
    expect(reviews.map(inShort)).toEqual([
      'stands_against, expired',
      'stands_against, reply_not_sent',
      'already_so',
      'would_send',
      'would_change, handled open → handled',
    ])
    expect(reviews[1]!.why).toBe('the reply before it (row 1) would not be sent')
  })
})

describe('what the check before sending would find', () => {
  const guards = (
    line: Line,
    facts: Partial<ReviewFacts> = {},
    queued: Partial<Writeback> | null = null,
  ) => {
    const target = line.visitor_id === undefined ? open : ada
    const conversation = target === open ? target : null
    const all = { target, conversation, ...unchanged, ...facts }
    const found = findObstacleInMirror(rowOf(line, 1, queued), all)
    return found === null ? null : `${found.reason}: ${found.why}`
  }
  const seenAt = (lastMessageAt: string | null) => ({ targetSnapshot: { lastMessageAt } })
  const wroteAt10 = 'visitor_wrote: a visitor wrote at 2026-05-31T10:00:00Z'

  test.each<[string, Line, Partial<ReviewFacts>, Partial<Writeback> | null, string | null]>([
    ['a flag that is not queued yet: the mirror is what the person sees', handle, {}, null, null],
    [
      'unless the mirror has a later message than its conversation shows',
      handle,
      {
        conversation: {
          ...open,
          lastMessageAt: '2026-05-31T09:00:00Z',
          lastMessageSenderType: 'agent',
        },
      },
      null,
      `${wroteAt10} (message 12)`,
    ],
    [
      'a flag queued when the mirror showed the same',
      handle,
      {},
      seenAt('2026-05-31T10:00:00Z'),
      null,
    ],
    [
      'a flag queued before the visitor wrote',
      handle,
      {},
      seenAt('2026-05-31T09:00:00Z'),
      `${wroteAt10}, after 2026-05-31T09:00:00Z`,
    ],
    [
      'also if the team has answered since',
      handle,
      {
        conversation: {
          ...open,
          lastMessageSenderType: 'agent',
          lastMessageAt: '2026-05-31T11:00:00Z',
        },
      },
      seenAt('2026-05-31T09:00:00Z'),
      `${wroteAt10} (message 12)`,
    ],
    [
      'the time of queueing counts where the mirror did not have it',
      handle,
      {},
      { createdAt: '2026-05-31T09:00:00Z' },
      `${wroteAt10}, after 2026-05-31T09:00:00Z`,
    ],
    ['reopening is not guarded', reopen, {}, seenAt('2026-05-31T09:00:00Z'), null],
    ['a reply is not guarded', reply, {}, seenAt('2026-05-31T09:00:00Z'), null],
    [
      'except by expect, as a time',
      { ...reply, expect: '2026-05-31T09:59:59Z' },
      {},
      null,
      `${wroteAt10}, after 2026-05-31T09:59:59Z`,
    ],
    [
      'the expected time itself is not later',
      { ...reply, expect: '2026-05-31T10:00:00Z' },
      {},
      null,
      null,
    ],
    [
      'expect as the last message',
      { ...reply, expect: '12' },
      { expectedMessage: open.lastVisitorMessage },
      null,
      null,
    ],
    [
      'expect as an earlier message',
      { ...reopen, expect: '7' },
      { expectedMessage: { id: '7', at: '2026-05-31T10:00:00Z', text: null } },
      null,
      `${wroteAt10} (message 12)`,
    ],
    [
      'expect as a message that the mirror lacks',
      { ...reply, expect: '99' },
      {},
      null,
      'expected_not_mirrored: the mirror does not have the message 99',
    ],
    [
      'expect of a note looks at a conversation of the visitor',
      { ...note, expect: '2026-05-31T09:00:00Z' },
      { conversation: open },
      null,
      `${wroteAt10}, after 2026-05-31T09:00:00Z`,
    ],
    [
      'which may not exist',
      { ...note, expect: '12' },
      {},
      null,
      'no_conversation: the mirror has no conversation of this visitor, so the expected message cannot be found',
    ],
  ])('%s', (_, line, facts, queued, expected) => {
    expect(guards(line, facts, queued)).toBe(expected)
  })

  const queuedWith = (name: string | null) => ({ targetSnapshot: { name, email: null } })
  const changed = 'edited_since: someone changed the name since it was queued'
  test.each<[string, Line, Partial<ReviewFacts>, Partial<Writeback> | null, string | null]>([
    ['a correction that is not queued yet', correct({ name: 'Grace' }), {}, null, null],
    ['the name is as it was', correct({ name: 'Grace' }), {}, queuedWith('Ada'), null],
    ['someone changed it', correct({ name: 'Grace' }), {}, queuedWith('Adda'), changed],
    ['someone set it', correct({ name: 'Grace' }), {}, queuedWith(null), changed],
    [
      'someone changed it to the wanted value',
      correct({ name: 'Ada' }),
      {},
      queuedWith('Adda'),
      'edited_since: it is there already, and has been set since it was queued',
    ],
    [
      'an earlier correction of ours changed it',
      correct({ name: 'Grace' }),
      { ownEdit: { name: 'Ada' } },
      queuedWith('Adda'),
      null,
    ],
    [
      'which the service has normalised',
      correct({ name: 'Grace' }),
      { ownEdit: { name: 'ADA ' } },
      queuedWith('Adda'),
      null,
    ],
    [
      'someone changed it after our correction',
      correct({ name: 'Grace' }),
      { ownEdit: { name: 'Eve' } },
      queuedWith('Adda'),
      changed,
    ],
    [
      'our last correction changed it before, which the mirror had not seen',
      correct({ name: 'Grace' }),
      { lastOwnEdit: { name: 'ada' } },
      queuedWith('Adda'),
      null,
    ],
    [
      'someone changed the other field',
      correct({ name: 'Grace' }),
      {},
      { ...queuedWith('Ada') },
      null,
    ],
    ['the mirror did not have the visitor', correct({ name: 'Grace' }), {}, {}, null],
  ])('%s', (_, line, facts, queued, expected) => {
    expect(guards(line, facts, queued)).toBe(expected)
  })
})

test('groups are counted with samples, and their size does not grow with the rows', () => {
  const counter = createReviewCounter()
  for (const _ of Array(50))
    for (const row of review(handled, [reply, handle, handle])) counter.add(row)
  for (const row of review(null, [reply])) counter.add(row)
  const { rows, counts, groups } = counter.summary()
  expect([rows, counts]).toEqual([
    151,
    { would_send: 50, would_change: 50, already_so: 50, stands_against: 0, not_known: 1 },
  ])
  expect(
    groups.map(({ outcome, action, count, changing, samples }) => [
      outcome,
      action,
      count,
      changing,
      samples.length,
    ]),
  ).toEqual([
    ['would_send', 'reply', 50, 50, 5],
    ['would_change', 'mark_handled', 50, 50, 5],
    ['already_so', 'mark_handled', 50, 0, 5],
    ['not_known', 'reply', 1, 0, 1],
  ])
})

test('what a review shows is as old as what was read longest ago of it', () => {
  const asOf = (...times: readonly (string | null)[]) => {
    const counter = createReviewCounter()
    for (const mirrorAsOf of times)
      for (const row of review(ada, [note], { mirrorAsOf })) counter.add(row)
    return counter.summary().mirrorAsOf
  }
  const [earlier, later] = ['2026-06-01T11:00:00Z', '2026-06-01T11:30:00Z']
  expect(asOf(later, earlier, later)).toBe(earlier)
  expect(asOf(earlier, null, later)).toBeNull()
  expect(asOf()).toBeNull()
})
