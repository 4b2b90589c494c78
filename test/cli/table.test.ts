/** Columns of long tables. */
import { expect, test } from 'vitest'
import { alignColumns, renderTable } from '../../src/cli/render/table.ts'

test('a list of 200,000 lines is aligned', () => {
  const rows = Array.from({ length: 200_000 }, (_, n) => [`row ${n}`, String(n)])
  expect(alignColumns(rows).at(-1)).toBe('row 199999   199999')
  expect(renderTable(['name', 'number'], rows)[1]).toMatch(/^ {2}─+$/)
})
