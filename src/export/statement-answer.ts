/** The answer to a statement, as what an export reads: one object, whose rows are there already. */
import { type BoundedAnswer, refusedStatement } from '../warehouse/bounded-answer.ts'
import type { ExportValue } from './core/selection.ts'
import type { ExportDeps } from './export-objects.ts'

/** Throws UserError unless it is whole, and its columns have different names. */
export function snapshotOfAnswer(name: string, answer: BoundedAnswer): ExportDeps['snapshot'] {
  const { cut, columns, rows } = answer
  const twice = columns.find((column, n) => columns.indexOf(column) !== n)
  if (cut !== null)
    throw refusedStatement(cut, 'filter or sum up, or make it a view, and export that')
  if (twice !== undefined)
    throw refusedStatement(`several of its columns are named ${twice}`, 'name them with `as`')
  const object = {
    name,
    kind: 'view' as const,
    key: [],
    columns: columns.map((column, n) => ({
      name: column,
      type: typeOf(rows.map((row) => row[n])),
    })),
  }
  const values = rows.map((row): readonly ExportValue[] =>
    row.map((value, n) => toExported(value, object.columns[n]?.type)),
  )
  return {
    listObjects: async () => [object],
    describe: async () => ({
      ...object,
      columns: object.columns.map((column) => ({ ...column, declared: column.type })),
    }),
    countRows: async () => rows.length,
    readRows: async function* () {
      yield values
    },
  }
}

/** The answer to a statement has no types, so the values decide. */
function typeOf(values: readonly unknown[]): 'text' | 'integer' | 'number' | 'boolean' {
  const known = values.filter((value) => value !== null)
  if (known.length === 0) return 'text'
  if (known.every((value) => typeof value === 'boolean')) return 'boolean'
  if (known.every(Number.isSafeInteger)) return 'integer'
  return known.every((value) => typeof value === 'number') ? 'number' : 'text'
}

function toExported(value: unknown, type: string | undefined): ExportValue {
  if (value === null) return null
  return type === 'text' ? String(value) : (value as ExportValue)
}
