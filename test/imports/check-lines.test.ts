/** Validation of an import before anything is queued. */
import { describe, expect, test } from 'vitest'
import type { ImportLookups } from '../../src/imports/check-lines.ts'
import { type CheckOptions, checkLines } from '../../src/imports/check-lines.ts'
import { detectFileForm } from '../../src/imports/file-form.ts'
import { parseLines } from '../../src/imports/parse-lines.ts'
import { storedWriteback } from '../outbox/stored-writeback.ts'
import { chunks, conversation, emptyLookups, visitor } from './request-fixtures.ts'

const now = Date.parse('2026-06-01T12:00:00Z')

function check(lines: readonly object[], options: Partial<CheckOptions> = {}) {
  const file = lines.map((line) => JSON.stringify(line)).join('\n')
  const form = detectFileForm(Buffer.from(file), { format: 'jsonl' })
  return checkLines(parseLines(chunks(file), form), {
    now,
    lookups: emptyLookups,
    allowDuplicates: false,
    ...options,
  })
}

const note = { operation: 'note', visitor_id: visitor, content: 'Paid twice' }
const handled = { operation: 'handled', conversation_id: conversation, handled: true }
const reply = {
  operation: 'message',
  conversation_id: conversation,
  content: 'It is on its way.',
  sender_name: 'Ann',
}
const kind = { found: [], foundOthers: 0, refs: [], override: null }

describe('replies of a downloaded sheet in alphabetical order', () => {
  const words = ['Bye', 'Danke', 'hello', 'It is here', 'Sorry, no', 'We look']
  const idOf = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
  const checkSheet = (replies: readonly string[], refOf = (n: number) => `sheet ${idOf(n)} 1`) => {
    const rows = replies.map((content, n) => `${idOf(n)},"${content}",${refOf(n)}`)
    const file = ['conversation_id,content,ref', ...rows].join('\n')
    const form = detectFileForm(Buffer.from(file), {})
    const lines = parseLines(chunks(file), form, { senderName: 'Ann' })
    return checkLines(lines, { now, lookups: emptyLookups, allowDuplicates: true })
  }

  test('may be those of one column that was sorted alone, so a person has to look', async () => {
    for (const sorted of [words, words.toReversed(), words.flatMap((text) => [text, text])]) {
      const { toBeSeen, notices } = await checkSheet(sorted)
      expect([toBeSeen, notices.some(({ why }) => why.includes('in alphabetical order'))]).toEqual([
        1,
        true,
      ])
    }
  })

  test('are a chance if they are few, of another order, or of a file of one’s own', async () => {
    const swapped = words.with(1, words[2] ?? '').with(2, words[1] ?? '')
    for (const others of [words.slice(1), swapped, words.map(() => 'Danke')])
      expect(await checkSheet(others)).toMatchObject({ toBeSeen: 0 })
    expect(await checkSheet(words, String)).toMatchObject({ toBeSeen: 0, notices: [] })
  })
})

describe('mistakes', () => {
  test('valid rows are counted', async () => {
    expect(await check([note, handled, note])).toEqual({
      rows: 3,
      toBeSeen: 0,
      validRows: 3,
      mistakenRows: 0,
      mistakes: [],
      kinds: [],
      notices: [],
      differing: 0,
      differingBatch: null,
      ignoredColumns: [],
      isHeaderMistaken: false,
    })
  })

  test('a mistaken row is listed with its place, its ref and all reasons', async () => {
    const { validRows, mistakes, mistakenRows } = await check([
      note,
      { operation: 'note', visitor_id: 7, ref: 'r-2' },
      { operation: 'call' },
    ])
    expect([validRows, mistakenRows]).toEqual([1, 2])
    expect(mistakes).toEqual([
      { line: 2, row: 2, ref: 'r-2', why: ['visitor_id: must be an id', 'content: is missing'] },
      {
        line: 3,
        row: 3,
        ref: null,
        why: ['operation: must be one of message, handled, visitor, note'],
      },
    ])
  })

  test('equal mistakes are one kind, with its rows, the values found, most frequent first, and refs', async () => {
    const ids = ['n/a', '4711', 'n/a', 'n/a', '', '12', '13', '14', '15', '16']
    const lines = ids.map((visitor_id, index) => ({ ...note, visitor_id, ref: `r-${index + 1}` }))
    const { kinds } = await check([
      ...lines.slice(0, 4),
      handled,
      ...lines.slice(4),
      { ...note, content: ' ' },
    ])
    expect(kinds).toEqual([
      {
        field: 'visitor_id',
        why: 'is not a UUID',
        override: null,
        count: 10,
        found: [
          { value: 'n/a', count: 3 },
          { value: '4711', count: 1 },
          ...['12', '13', '14'].map((value) => ({ value, count: 1 })),
        ],
        foundOthers: 2,
        rows: [
          { from: 1, to: 4 },
          { from: 6, to: 11 },
        ],
        refs: ['r-1', 'r-2', 'r-3', 'r-4', 'r-5'],
      },
      { ...kind, field: 'content', why: 'is empty', count: 1, rows: [{ from: 12, to: 12 }] },
    ])
  })

  test('a hundred mistaken rows are listed and all are counted', async () => {
    const { validRows, mistakes, mistakenRows, kinds } = await check([
      ...Array.from({ length: 250 }, () => ({})),
      note,
    ])
    expect([validRows, mistakenRows]).toEqual([1, 250])
    expect(mistakes.map(({ line }) => line)).toEqual(Array.from({ length: 100 }, (_, at) => at + 1))
    expect(kinds).toMatchObject([{ field: 'operation', count: 250, rows: [{ from: 1, to: 250 }] }])
  })

  test('a file of arbitrary JSON needs little memory: beyond a hundred kinds they are counted together', async () => {
    const { kinds } = await check(
      Array.from({ length: 500 }, (_, n) => ({ ...note, [`field ${n}`]: n })),
    )
    expect(kinds).toHaveLength(101)
    expect(kinds[0]).toMatchObject({ field: null, why: 'has other mistakes', count: 400 })
  })

  test('a repeated ref names the first row', async () => {
    const ref = (ref: string) => ({ ...note, ref })
    const { kinds, validRows } = await check([
      ref('a'),
      note,
      ref('b'),
      note,
      ref('A'),
      ref('b'),
      ref('b'),
    ])
    expect(kinds).toEqual([
      {
        ...kind,
        field: 'ref',
        why: 'an earlier row has the same ref',
        count: 2,
        refs: ['b'],
        found: [{ value: 'b in row 3', count: 2 }],
        rows: [{ from: 6, to: 7 }],
      },
    ])
    expect(validRows).toBe(5)
  })

  test('an expiry that has passed is a mistake', async () => {
    const until = (expires_at: string) => ({ ...note, expires_at })
    const { kinds, validRows } = await check([
      until('2026-06-01T12:00:01Z'),
      until('2026-06-01T14:00:00+02:00'),
      note,
    ])
    expect(kinds).toMatchObject([
      {
        field: 'expires_at',
        why: 'has passed; leave it out, or give a future time',
        found: [{ value: '2026-06-01T12:00:00Z' }],
        rows: [{ from: 2, to: 2 }],
      },
    ])
    expect(validRows).toBe(2)
  })
})

describe('the same words to the same conversation', () => {
  const other = { ...reply, conversation_id: '11111111-1111-4222-8333-444455556666' }

  test('an earlier row of the file', async () => {
    const { kinds, validRows } = await check([
      reply,
      other,
      { ...reply, content: '  IT’S on its way ', sender_name: 'Bob' },
      {
        ...reply,
        content: 'It\u00a0is on\nits way.',
        sender_name: 'Bob',
        conversation_id: conversation.toUpperCase(),
      },
      { ...reply, content: 'It is on its way!' },
    ])
    expect(kinds).toEqual([
      {
        ...kind,
        field: 'content',
        why: 'an earlier row sends the same words to the same conversation',
        override: 'allow-duplicates',
        count: 1,
        found: [{ value: 'row 1', count: 1 }],
        rows: [{ from: 4, to: 4 }],
      },
    ])
    expect(validRows).toBe(4)
  })

  test('a reply of the last 30 days, or one that is still to be sent', async () => {
    const asked: unknown[] = []
    const listReplies: ImportLookups['listReplies'] = async (conversations, since) => {
      asked.push(conversations, since)
      return [
        { conversation, content: reply.content.toUpperCase(), sentAt: '2026-05-09T10:00:00Z' },
        { conversation: other.conversation_id, content: reply.content, sentAt: null },
      ]
    }
    const { kinds, validRows } = await check([reply, other, note], {
      lookups: { ...emptyLookups, listReplies },
    })
    expect(asked).toEqual([[conversation, other.conversation_id], '2026-05-02T12:00:00Z'])
    expect(kinds).toMatchObject([
      {
        why: 'the same words were sent to the same conversation in the last 30 days',
        found: [{ value: '2026-05-09' }],
        rows: [{ from: 1, to: 1 }],
      },
      {
        why: 'the same words are queued for the same conversation',
        found: [],
        rows: [{ from: 2, to: 2 }],
      },
    ])
    expect(validRows).toBe(1)
  })

  test('may be allowed, and is then a notice', async () => {
    const { kinds, validRows, notices } = await check([reply, reply], { allowDuplicates: true })
    expect([validRows, kinds]).toEqual([2, []])
    expect(notices).toMatchObject([{ field: 'content', count: 1, rows: [{ from: 2, to: 2 }] }])
  })

  test('a row whose ref was queued before repeats nothing, as it is skipped', async () => {
    const { content, sender_name } = reply
    const queued = storedWriteback(
      { operation: 'message', conversation_id: conversation, content, sender_name },
      { batchId: 'b' },
    )
    const lookups: ImportLookups = {
      ...emptyLookups,
      findQueuedRefs: async () => new Map([['a', queued]]),
      listReplies: async (conversations) =>
        conversations.map((id) => ({ conversation: id, content, sentAt: '2026-05-09T10:00:00Z' })),
    }
    const result = await check(
      [
        { ...reply, ref: 'a' },
        { ...other, ref: 'b' },
      ],
      { lookups },
    )
    expect(result).toMatchObject({
      validRows: 1,
      kinds: [{ rows: [{ from: 2, to: 2 }] }],
      notices: [],
      differing: 0,
    })
  })
})

test('rows that were flipped by hand keep the refs of what was queued, and are named', async () => {
  const queued = storedWriteback(
    { operation: 'handled', conversation_id: conversation, handled: true },
    { batchId: 'flags-1' },
  )
  const lookups: ImportLookups = {
    ...emptyLookups,
    findQueuedRefs: async () => new Map([['a', queued]]),
  }
  const flipped = { ...handled, handled: false, ref: 'a' }
  expect(await check([flipped, { ...handled, ref: 'b' }], { lookups })).toMatchObject({
    validRows: 2,
    differing: 1,
    differingBatch: 'flags-1',
    notices: [{ field: 'ref', count: 1, rows: [{ from: 1, to: 1 }], refs: ['a'] }],
  })
  expect(await check([{ ...handled, ref: 'a' }], { lookups })).toMatchObject({
    differing: 0,
    notices: [],
  })
})
