/** The rows of CSV exports, which can be corrected and imported again. */
import { byteOrderMark, toCsvLine } from '../../core/csv.ts'
import { operationTypes, type WritebackRequest } from '../../core/outbox/writeback-request.ts'
import { type OutcomeColumn, outcomeColumns, requestColumns } from './column-names.ts'
import { toCsvCell } from './csv-cells.ts'

/** The outcome of a write-back, by column name of the table `writebacks`. */
type OutcomeCells = { readonly [C in OutcomeColumn]?: string | number | null }

export const csvHeader = `${byteOrderMark}${toCsvLine([...outcomeColumns, ...requestColumns])}`

/** One line below `csvHeader`. Importing it gives the same request. */
export function toCsvRow(outcome: OutcomeCells, request: WritebackRequest): string {
  const requestCells = toRequestCells(request)
  return toCsvLine([
    // In an outcome, null means no value (an empty cell); in a request, null clears a field.
    ...outcomeColumns.map((column) => toCsvCell(outcome[column] ?? '')),
    ...requestColumns.map((column) => toCsvCell(requestCells[column] === undefined ? '' : requestCells[column])),
  ])
}

type RequestCells = Readonly<Record<string, string | boolean | null>>

function toRequestCells({ operation, target, payload, ref, expect, expiresAt }: WritebackRequest): RequestCells {
  const common = { ref: ref ?? '', expect: expect ?? '', expires_at: expiresAt ?? '' }
  return { operation, [`${operationTypes[operation].target}_id`]: target, ...payload, ...common }
}
