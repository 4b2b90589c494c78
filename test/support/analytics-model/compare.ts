/** Compares rows of the analyst's layer with those that the model expects. */
import { type ModelRow, toTime } from './raw-rows.ts'

/**
 * One line for each row that only one side has; empty if both are equal, in any order. `title`: of
 * what they are rows.
 */
export function findDifferences(
  title: string,
  expected: readonly ModelRow[],
  actual: readonly ModelRow[],
): string[] {
  // What the model does not know of is not compared.
  const columns = Object.keys(expected[0] ?? actual[0] ?? {})
  const wanted = countTexts(expected.map((row) => toText(row, columns)))
  const found = countTexts(actual.map((row) => toText(row, columns)))
  return [
    ...missingFrom(found, wanted, `${title} lacks`),
    ...missingFrom(wanted, found, `${title} has`),
  ]
}

function countTexts(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1)
  return counts
}

function missingFrom(
  counts: Map<string, number>,
  others: Map<string, number>,
  title: string,
): string[] {
  return [...others]
    .filter(([text, count]) => counts.get(text) !== count)
    .map(([text]) => `${title} ${text}`)
}

function toText(row: ModelRow, columns: readonly string[]): string {
  return columns.map((column) => `${column}: ${normalise(row[column], column)}`).join(', ')
}

const timeColumn = /_at$|_since$|_from$/

/**
 * SQLite has no booleans, derivations count seconds, and databases add numbers up in different
 * orders.
 */
function normalise(value: string | number | boolean | null | undefined, column: string): string {
  if (typeof value === 'boolean') return String(Number(value))
  if (typeof value !== 'number') return String(value)
  return timeColumn.test(column) ? toTime(value) : String(Number(value.toPrecision(10)) + 0)
}
