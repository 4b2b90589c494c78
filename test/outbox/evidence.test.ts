/** The evidence can be written by SQL: what of it is of a wrong type says nothing. */
import { expect, test } from 'vitest'
import { decodeEvidence } from '../../src/outbox/sql/row.ts'

const sound = {
  before: { ids: ['1', '2'], handledAt: null, lastMessageAt: '2026-03-01T10:00:00Z' },
  earlier: { ids: ['1'] },
  sentWith: 3,
  sender: 'ended',
  statedResult: { says: 'accepted', why: 'it was accepted' },
  verifications: 1,
  candidates: ['7'],
  found: 'it is there',
}
const decode = (evidence: unknown) => decodeEvidence('sqlite', JSON.stringify(evidence))

test('a member of a wrong type says nothing, and the others stay', () => {
  expect(decode(sound)).toEqual(sound)
  for (const name of Object.keys(sound)) {
    const { [name as keyof typeof sound]: _, ...others } = sound
    expect(decode({ ...sound, [name]: name === 'sender' ? 'unknown' : false })).toEqual(others)
  }
})

test('so does a part of what the target showed', () => {
  const { ids: _, ...others } = sound.before
  expect(decode({ before: { ...sound.before, ids: [1] } })).toEqual({ before: others })
  expect(decode({ before: { ...sound.before, handledAt: 7 } }).before?.ids).toEqual(['1', '2'])
})

test('what is no object at all is no evidence', () => {
  for (const evidence of [null, [], 'a text', 7]) expect(decode(evidence)).toEqual({})
  expect(decodeEvidence('sqlite', '{')).toEqual({})
  expect(decodeEvidence('sqlite', null)).toEqual({})
})
