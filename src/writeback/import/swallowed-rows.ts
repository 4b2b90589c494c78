/**
 * Finds a row inside a cell of the row above. A quote that opens a cell and is not closed takes in all rows up to the next
 * quote: a customer would read them, and nothing would be sent for them. Pure.
 */

import { idSchema, maxLengths } from '../../core/outbox/request-fields.ts'
import { type RequestMistake, toMistake } from '../../core/outbox/request-mistake.ts'
import { columnLetter } from './column-names.ts'
import { type CsvHeader, isField } from './csv-header.ts'

/** A longer cell is a mistake anyway. */
const searchedLength = 2 * maxLengths.content

/** A line of a cell is a row if an id stands where the header has the column of an id. */
export function swallowedRows(
  cells: readonly string[],
  header: CsvHeader,
  separator: string,
): readonly RequestMistake[] {
  const idColumns = header.columns.flatMap((column, index) =>
    isField(column) && column.field.endsWith('_id') ? [index] : [],
  )
  const isRow = (line: string) => {
    const inner = line.split(separator)
    return inner.length > 1 && idColumns.some((index) => idSchema.safeParse(inner[index]?.trim()).success)
  }
  const hasRow = (cell: string) => cell.includes('\n') && cell.slice(0, searchedLength).split('\n').slice(1).some(isRow)
  const index = cells.findIndex(hasRow)
  if (index < 0) return []
  const found = `column ${columnLetter(index)}: ${cells[index]}`
  return [
    toMistake(
      null,
      'has other rows in a cell: a quote (") opens the cell and is not closed before the next row',
      found,
    ),
  ]
}
