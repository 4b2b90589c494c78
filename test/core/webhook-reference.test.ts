/** What a delivery may be about: which ids are found in payloads that nobody has described. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { maxReferences, parseWebhook } from '../../src/core/webhook-reference.ts'

const uuid = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
const [a, b, c, d] = [uuid(1), uuid(2), uuid(3), uuid(4)]

/** `conversations 1` for the first of these ids, `? 2` for one whose kind is not told. */
const found = (payload: unknown) =>
  parseWebhook(JSON.stringify(payload)).references.map(
    ({ id, table: kind }) => `${kind ?? '?'} ${Number(id.slice(-12)) || id}`,
  )

describe('an id is known by the name of its field, or of what it stands in', () => {
  test.each([
    [{ conversationId: a }, ['conversations 1']],
    [{ conversation_id: a, VISITORID: b, 'call-id': c }, ['conversations 1', 'visitors 2', 'calls 3']],
    [{ conversation: { id: a, visitor: { uuid: b } } }, ['conversations 1', 'visitors 2']],
    [{ conversation: a, lastVisitor: b, parentCall: c }, ['conversations 1', 'visitors 2', 'calls 3']],
    [{ conversationIds: [a, b] }, ['conversations 1', 'conversations 2']],
    [{ calls: [{ id: a }, { data: { id: b } }] }, ['calls 1', 'calls 2']],
    [{ visitors: { [a]: { name: 'Bo' }, [b]: null } }, ['visitors 1', 'visitors 2']],
    [{ data: { object: { conversation: { attributes: { id: a } } } } }, ['conversations 1']],
    [{ message: { id: 7, conversationId: a } }, ['conversations 1']],
    [{ recording: { callId: a } }, ['calls 1']],
    [[{ visitorUuid: a }], ['visitors 1']],
  ])('%j', (payload, ids) => {
    expect(found(payload)).toEqual(ids)
  })

  test('or of the type of the event, where it stands in what the event carries', () => {
    const event = { type: 'conversation.updated', id: a, data: { id: b, visitorId: c } }
    expect(found(event)).toEqual(['? 1', 'conversations 2', 'visitors 3'])
    expect(found({ event: 'call_ended', payload: { id: a } })).toEqual(['calls 1'])
    expect(found({ topic: 'callback.done', payload: { id: a } })).toEqual(['? 1'])
  })

  test('also where it is no UUID, of a call: the service documents none of its fields', () => {
    expect(found({ callId: 'call_17', call: { id: 18, duration: 60, status: 'missed' } })).toEqual([
      'calls call_17',
      'calls 18',
    ])
    expect(found({ callId: '../visitors', call: { id: true } })).toEqual([])
    expect(found({ callId: [5], visitorId: 7 })).toEqual([])
  })
})

describe('an id whose kind is not told is found all the same', () => {
  test.each([
    [a, ['? 1']],
    [{ id: a }, ['? 1']],
    [{ data: [a, b] }, ['? 1', '? 2']],
    [{ conversation: { agent: { id: a } } }, ['? 1']],
    [{ subject: { ref: a.toUpperCase().replace('8000', 'ABCD') } }, ['? 1']],
  ])('%j', (payload, ids) => {
    expect(found(payload)).toEqual(ids)
  })

  test('but for the project: it is known whose delivery this is', () => {
    expect(found({ projectId: a, project: { id: b }, visitorId: c })).toEqual(['visitors 3'])
  })

  test('and once is enough: who names its kind is right, in capitals or not', () => {
    expect(found({ ids: [a, a], conversationId: a, other: { x: a.toUpperCase() }, id: d })).toEqual([
      'conversations 1',
      '? 4',
    ])
  })
})

describe('no ids, and why:', () => {
  const many = (count: number) => Array.from({ length: count }, (_, n) => ({ conversationId: uuid(n) }))

  test.each([
    ['', 'it is no JSON'],
    ['{"conversationId":', 'it is no JSON'],
    [`conversationId=${a}`, 'it is no JSON'],
    ['{}', 'it holds no id'],
    ['null', 'it holds no id'],
    ['{"conversationId":"abc","text":"call 00000000-0000-4000-8000-000000000001 please"}', 'it holds no id'],
    [JSON.stringify(many(maxReferences + 1)), 'it holds more than 20 ids'],
  ])('%s', (body, why) => {
    expect(parseWebhook(body)).toEqual({ ids: [], why })
  })

  test('twenty are not too many', () => {
    expect(parseWebhook(JSON.stringify(many(maxReferences))).references).toHaveLength(maxReferences)
  })
})

test('64 KiB of nothing but brackets, or of big numbers, are no trouble', () => {
  const deep = 32_000
  expect(parseWebhook(`${'['.repeat(deep)}"${a}"${']'.repeat(deep)}`).references).toEqual([{ id: a, kind: null }])
  expect(parseWebhook(`${'{"conversation":'.repeat(4000)}"${b}"${'}'.repeat(4000)}`).references).toHaveLength(1)
  const numbers = `${'['.repeat(deep)}12345678901234567890${']'.repeat(deep)}`
  expect(parseWebhook(numbers).references).toEqual([])
  expect(parseWebhook(`{"callId":12345678901234567890}`).references).toEqual([
    { id: '12345678901234567890', kind: 'calls' },
  ])
})

test('whatever comes: it never throws, and gives ids that stand in the text, each once and never more than it may', () => {
  const names = fc.constantFrom('id', 'conversationId', 'visitor', 'call', 'data', 'type', '__proto__', 'projectId', a)
  const leaves = fc.oneof(fc.uuid(), fc.constantFrom(a, b, c, 'call.ended', 'conversation'), fc.integer(), fc.string())
  const { payload } = fc.letrec((tie) => ({
    payload: fc.oneof(
      { depthSize: 'small' },
      leaves,
      fc.array(tie('payload')),
      fc.dictionary(fc.oneof(names, fc.string()), tie('payload')),
    ),
  }))
  const bodies = fc.oneof(
    fc.string({ unit: 'binary' }),
    payload.map((it) => JSON.stringify(it)),
    fc.json(),
  )
  fc.assert(
    fc.property(bodies, (body) => {
      const { references: ids, why } = parseWebhook(body)
      expect(ids.length).toBeLessThanOrEqual(maxReferences)
      expect(why === null).toBe(ids.length > 0)
      expect(new Set(ids.map(({ id }) => id.toLowerCase())).size).toBe(ids.length)
      for (const { id } of ids) expect(body).toContain(id)
    }),
    { numRuns: 1500 },
  )
})
