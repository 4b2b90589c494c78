/** Validation of an import before anything is queued. */
import { expect, test } from 'vitest'
import { checkLines } from '../../../src/writeback/import/check-lines.ts'
import { parseLines } from '../../../src/writeback/import/parse-lines.ts'
import { createRefIndex } from '../../../src/writeback/import/ref-index.ts'
import { chunks, conversation, visitor } from './request-fixtures.ts'

const check = (...lines: readonly object[]) =>
  checkLines(
    parseLines(chunks(lines.map((line) => JSON.stringify(line)).join('\n'))),
    Date.parse('2026-06-01T12:00:00Z'),
  )

const note = { operation: 'note', visitor_id: visitor, content: 'Paid twice' }
const handled = { operation: 'handled', conversation_id: conversation, handled: true }

test('valid lines are counted', async () => {
  expect(await check(note, handled, note)).toEqual({
    validLines: 3,
    mistakes: [],
    mistakenLines: 0,
  })
})

test('a mistake has its line number and all reasons', async () => {
  const { validLines, mistakes, mistakenLines } = await check(
    note,
    { operation: 'note', visitor_id: 7 },
    { operation: 'call' },
  )
  expect(validLines).toBe(1)
  expect(mistakenLines).toBe(2)
  expect(mistakes).toEqual([
    { line: 2, why: ['visitor_id: must be an id', 'content: is missing'] },
    { line: 3, why: ['operation: must be one of message, handled, visitor, note'] },
  ])
})

test('a hundred mistakes are listed and all are counted', async () => {
  const { validLines, mistakes, mistakenLines } = await check(...Array.from({ length: 250 }, () => ({})), note)
  expect(mistakenLines).toBe(250)
  expect(mistakes.map(({ line }) => line)).toEqual(Array.from({ length: 100 }, (_, at) => at + 1))
  expect(validLines).toBe(1)
})

test('a repeated ref is a mistake that names the first line', async () => {
  const ref = (ref: string) => ({ ...note, ref })
  const { validLines, mistakes, mistakenLines } = await check(
    ref('a'),
    note,
    ref('b'),
    note,
    ref('A'),
    ref('b'),
    ref('b'),
  )
  expect(mistakes).toEqual([
    { line: 6, why: ['ref: is also used in line 3'] },
    { line: 7, why: ['ref: is also used in line 3'] },
  ])
  expect(mistakenLines).toBe(2)
  expect(validLines).toBe(5)
})

test('an expiry that has passed is a mistake', async () => {
  const until = (expires_at: string) => ({ ...note, expires_at })
  const { mistakes, validLines } = await check(until('2026-06-01T12:00:01Z'), until('2026-06-01T14:00:00+02:00'), note)
  expect(mistakes).toEqual([
    { line: 2, why: ['expires_at: 2026-06-01T12:00:00Z has passed; leave it out, or give a future time'] },
  ])
  expect(validLines).toBe(2)
})

test('the index finds the first line of each of many refs without collisions', () => {
  const refs = createRefIndex(2)
  const lines = Array.from({ length: 20_000 }, (_, at) => at + 1)
  expect(lines.filter((line) => refs.firstLine(`ref ${line}`, line) !== line)).toEqual([])
  expect(lines.filter((line) => refs.firstLine(`ref ${line}`, 99_999) !== line)).toEqual([])
})
