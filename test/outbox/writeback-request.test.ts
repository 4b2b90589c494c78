/** Parsing a write-back request, and the mistakes of invalid ones. */
import { describe, expect, test } from 'vitest'
import { maxLengths } from '../../schema/operation-specs.ts'
import { operations } from '../../src/outbox/core/operations.ts'
import { mistakeText, parseRequest } from '../../src/outbox/core/writeback-request.ts'
import { parseJson } from '../../src/values/json.ts'
import { conversation, visitor } from '../imports/request-fixtures.ts'

const lines = {
  message: {
    operation: 'message',
    conversation_id: conversation,
    content: 'On its way',
    sender_name: 'Ann',
  },
  handled: { operation: 'handled', conversation_id: conversation, handled: false },
  visitor: { operation: 'visitor', visitor_id: visitor, name: 'Zoë' },
  note: { operation: 'note', visitor_id: visitor, content: 'Paid twice' },
}

function mistakesOf(line: unknown): readonly string[] {
  const result = parseRequest(line)
  return result.ok ? [] : result.mistakes.map(mistakeText)
}

function parseValid(line: unknown) {
  const result = parseRequest(line)
  if (!result.ok) throw new Error(JSON.stringify(result.mistakes))
  return result.request
}

describe('a request', () => {
  test.for(operations)('has a target and exactly the payload: %s', (operation) => {
    const { operation: _, ...fields } = lines[operation]
    const { conversation_id, visitor_id, ...payload } = {
      conversation_id: undefined,
      visitor_id: undefined,
      ...fields,
    }
    expect(parseValid(lines[operation])).toEqual({
      operation,
      target: conversation_id ?? visitor_id,
      payload,
      ref: null,
      expect: null,
      expiresAt: null,
    })
  })

  test('distinguishes absent fields from cleared ones', () => {
    expect(parseValid(lines.visitor).payload).toEqual({ name: 'Zoë' })
    expect(parseValid({ ...lines.visitor, email: null }).payload).toEqual({
      name: 'Zoë',
      email: null,
    })
    expect(parseValid({ ...lines.visitor, name: null }).payload).toEqual({ name: null })
  })

  test('keeps a text unchanged', () => {
    const content = '  Grüße 👋🏽\r\n\n\t"it\'s" \u202e  '
    expect(parseValid({ ...lines.message, content }).payload).toMatchObject({ content })
    expect(
      parseValid({ ...lines.note, content: 'x'.repeat(maxLengths.content) }).payload,
    ).toMatchObject({
      content: 'x'.repeat(maxLengths.content),
    })
  })

  test('may name the last message seen by its id, its time, or the message object', () => {
    const seen = (text: string) => parseValid({ ...lines.handled, expect: parseJson(text) }).expect
    expect(seen('7')).toBe('7')
    expect(seen('9007199254740993')).toBe('9007199254740993')
    expect(seen('"0012"')).toBe('12')
    expect(seen('"2026-01-31T18:00:00.5+01:00"')).toBe('2026-01-31T17:00:00Z')
    expect(seen('{"id":7,"content":"Hello?","createdAt":"2026-01-31T18:00:00Z"}')).toBe('7')
    expect(seen('{"lastMessageAt":"2026-01-31T18:00:00Z"}')).toBe('2026-01-31T18:00:00Z')
    expect(seen('null')).toBeNull()
  })

  test('may have an expiry', () => {
    const until = (expires_at: unknown) => parseValid({ ...lines.note, expires_at }).expiresAt
    expect(until('2028-02-29T23:00:00-02:00')).toBe('2028-03-01T01:00:00Z')
    expect(until(null)).toBeNull()
  })
})

const mistakes: readonly (readonly [about: string, line: unknown, why: readonly string[]])[] = [
  ['no object', null, ['must be a JSON object']],
  ['no object', [lines.note], ['must be a JSON object']],
  ['no object', 'note', ['must be a JSON object']],
  ['no operation', {}, ['operation: must be one of message, handled, visitor, note']],
  [
    'a property of Object',
    { operation: 'toString' },
    ['operation: must be one of message, handled, visitor, note'],
  ],
  [
    'no fields',
    { operation: 'message' },
    ['conversation_id: is missing', 'content: is missing', 'sender_name: is missing'],
  ],
  [
    'nothing to do',
    { operation: 'handled', conversation_id: conversation },
    ['handled: is missing'],
  ],
  [
    'nothing to correct',
    { operation: 'visitor', visitor_id: visitor },
    ['name, email: at least one must be given'],
  ],
  ['a number for an id', { ...lines.note, visitor_id: 7 }, ['visitor_id: must be an id']],
  ['an invalid id', { ...lines.note, visitor_id: `${visitor}/..` }, ['visitor_id: is not a UUID']],
  [
    'a text for a boolean',
    { ...lines.handled, handled: 'true' },
    ['handled: must be true or false'],
  ],
  ['null for a text', { ...lines.note, content: null }, ['content: must be text']],
  ['white space', { ...lines.note, content: ' \n\u00a0' }, ['content: is empty']],
  [
    'nothing that can be seen',
    { ...lines.note, content: '\u200b \u3164\ufe0f' },
    ['content: is empty'],
  ],
  ['an empty name', { ...lines.visitor, name: '' }, ['name: is empty']],
  [
    'a long text',
    { ...lines.note, content: 'x'.repeat(20_001) },
    ['content: is longer than 20000 characters'],
  ],
  [
    'a long name',
    { ...lines.visitor, name: 'x'.repeat(301) },
    ['name: is longer than 300 characters'],
  ],
  [
    'a NUL',
    { ...lines.note, content: 'a\0' },
    ['content: contains control characters or unpaired surrogates'],
  ],
  [
    'an escape',
    { ...lines.note, content: '\x1b[2J' },
    ['content: contains control characters or unpaired surrogates'],
  ],
  [
    'half a character',
    { ...lines.note, content: '👋'.slice(1) },
    ['content: contains control characters or unpaired surrogates'],
  ],
  [
    'a name of two lines',
    { ...lines.message, sender_name: 'Ann\nBob' },
    ['sender_name: must be one line, without tabs'],
  ],
  [
    'a tab in an address',
    { ...lines.visitor, email: 'a\tb' },
    ['email: must be one line, without tabs'],
  ],
  ['an empty ref', { ...lines.note, ref: '' }, ['ref: is empty']],
  ['a number for a ref', { ...lines.note, ref: 7 }, ['ref: must be text']],
  [
    'the wrong field',
    { ...lines.note, handled: true },
    ['handled: is not a field of this operation'],
  ],
  [
    'unknown fields',
    { ...lines.note, text: 'x', to: 'y' },
    ['text: is not a field of this operation', 'to: is not a field of this operation'],
  ],
  [
    'the field __proto__',
    parseJson(`{"__proto__":{},"operation":"note","visitor_id":"${visitor}","content":"x"}`),
    ['__proto__: is not a field of this operation'],
  ],
  ...[
    {},
    [7],
    true,
    -1,
    1.5,
    '',
    'yesterday',
    '2026-01-31',
    '2026-02-30T00:00:00Z',
    { id: null },
    '9'.repeat(20),
  ].map(
    (expect) =>
      [
        `no message: ${JSON.stringify(expect)}`,
        { ...lines.note, expect },
        ['expect: must be the last message that you saw: its id, or its time (RFC 3339)'],
      ] as const,
  ),
  ...[
    7,
    '',
    '2026-01-31',
    '2026-01-31T18:00:00',
    '2026-02-30T00:00:00Z',
    '9999-12-31T23:59:59-01:00',
  ].map(
    (expires_at) =>
      [
        `no time: ${expires_at}`,
        { ...lines.note, expires_at },
        ['expires_at: must be a time like 2026-01-31T18:00:00Z'],
      ] as const,
  ),
]

describe('a mistake names its field', () => {
  test.for(mistakes)('%s', ([, line, expected]) => {
    expect(mistakesOf(line)).toEqual(expected)
  })

  test('all mistakes of a line are reported once', () => {
    expect(
      mistakesOf({ ...lines.message, conversation_id: 'x', content: '', expect: {}, extra: 1 }),
    ).toEqual([
      'conversation_id: is not a UUID',
      'content: is empty',
      'expect: must be the last message that you saw: its id, or its time (RFC 3339)',
      'extra: is not a field of this operation',
    ])
  })
})
