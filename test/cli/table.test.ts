/** Columns of an answer, however long it is. */
import { expect, test } from 'vitest'
import { aligned, withHeader } from '../../src/cli/table.ts'

test('a list of 200,000 lines is aligned', () => {
  const rows = Array.from({ length: 200_000 }, (_, n) => [`row ${n}`, String(n)])
  expect(aligned(rows).at(-1)).toBe('row 199999   199999')
  expect(withHeader(['name', 'number'], rows)[1]).toMatch(/^ {2}─+$/)
})
