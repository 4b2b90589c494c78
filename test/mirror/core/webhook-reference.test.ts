/** Which ids are found in webhook payloads whose shape is undocumented. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { maxReferences, parseWebhook } from '../../../src/mirror/core/webhook-reference.ts'

const uuid = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`
const [a, b, c, d] = [uuid(1), uuid(2), uuid(3), uuid(4)]

/** `conversations 1` for the first of these ids, `? 2` for one whose table is unknown. */
function found(payload: unknown) {
  const { references } = parseWebhook(JSON.stringify(payload))
  return references.map(({ id, table }) => `${table ?? '?'} ${Number(id.slice(-12)) || id}`)
}

describe('the table of an id follows from the name of its field or of the enclosing object', () => {
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

  test('or from the type of the event, if the id is in the data of the event', () => {
    const event = { type: 'conversation.updated', id: a, data: { id: b, visitorId: c } }
    expect(found(event)).toEqual(['? 1', 'conversations 2', 'visitors 3'])
    expect(found({ event: 'call_ended', payload: { id: a } })).toEqual(['calls 1'])
    expect(found({ topic: 'callback.done', payload: { id: a } })).toEqual(['? 1'])
  })

  test('also for ids of calls that are not UUIDs, because no field of a call is documented', () => {
    const payload = { callId: 'call_17', call: { id: 18, duration: 60, status: 'missed' } }
    expect(found(payload)).toEqual(['calls call_17', 'calls 18'])
    expect(found({ callId: '../visitors', call: { id: true } })).toEqual([])
    expect(found({ callId: [5], visitorId: 7 })).toEqual([])
  })
})

describe('an id whose table is unknown is still found', () => {
  test.each([
    [a, ['? 1']],
    [{ id: a }, ['? 1']],
    [{ data: [a, b] }, ['? 1', '? 2']],
    [{ conversation: { agent: { id: a } } }, ['? 1']],
    [{ subject: { ref: a.toUpperCase().replace('8000', 'ABCD') } }, ['? 1']],
  ])('%j', (payload, ids) => {
    expect(found(payload)).toEqual(ids)
  })

  test('but not the id of the project', () => {
    expect(found({ projectId: a, project: { id: b }, visitorId: c })).toEqual(['visitors 3'])
  })

  test('each id once, with its table if any occurrence shows it, regardless of case', () => {
    const payload = { ids: [a, a], conversationId: a, other: { x: a.toUpperCase() }, id: d }
    expect(found(payload)).toEqual(['conversations 1', '? 4'])
  })
})

describe('no ids, and the reason:', () => {
  const many = (count: number) => Array.from({ length: count }, (_, n) => ({ conversationId: uuid(n) }))

  test.each([
    ['', 'it is not JSON'],
    ['{"conversationId":', 'it is not JSON'],
    [`conversationId=${a}`, 'it is not JSON'],
    ['{}', 'it contains no id'],
    ['null', 'it contains no id'],
    ['{"conversationId":"abc","text":"call 00000000-0000-4000-8000-000000000001 please"}', 'it contains no id'],
    [JSON.stringify(many(maxReferences + 1)), 'it contains more than 20 ids'],
  ])('%s', (body, why) => {
    expect(parseWebhook(body)).toEqual({ references: [], why })
  })

  test('twenty ids are not too many', () => {
    expect(parseWebhook(JSON.stringify(many(maxReferences))).references).toHaveLength(maxReferences)
  })
})

test('64 KiB of brackets or of big numbers are parsed', () => {
  const deep = 32_000
  expect(parseWebhook(`${'['.repeat(deep)}"${a}"${']'.repeat(deep)}`).references).toEqual([{ id: a, table: null }])
  expect(parseWebhook(`${'{"conversation":'.repeat(4000)}"${b}"${'}'.repeat(4000)}`).references).toHaveLength(1)
  const numbers = `${'['.repeat(deep)}12345678901234567890${']'.repeat(deep)}`
  expect(parseWebhook(numbers).references).toEqual([])
  const big = '12345678901234567890'
  expect(parseWebhook(`{"callId":${big}}`).references).toEqual([{ id: big, table: 'calls' }])
})

test('any text: the parser never throws, and returns ids from the text, each once and at most the maximum', () => {
  const names = fc.constantFrom('id', 'conversationId', 'visitor', 'call', 'data', 'type', '__proto__', 'projectId', a)
  const scalars = fc.oneof(fc.uuid(), fc.constantFrom(a, b, c, 'call.ended', 'conversation'), fc.integer(), fc.string())
  const { payload } = fc.letrec((tie) => ({
    payload: fc.oneof(
      { depthSize: 'small' },
      scalars,
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
      const { references, why } = parseWebhook(body)
      expect(references.length).toBeLessThanOrEqual(maxReferences)
      expect(why === null).toBe(references.length > 0)
      expect(new Set(references.map(({ id }) => id.toLowerCase())).size).toBe(references.length)
      for (const { id } of references) expect(body).toContain(id)
    }),
    { numRuns: 1500 },
  )
})
