/**
 * The cells of CSV files. A spreadsheet executes a cell that looks like a formula, an import
 * refuses what looks like the error of one, and visitors write some of these texts: such a text
 * gets a leading `'`, which is removed when it is read. Within a text, only in a file that this
 * program has written.
 */
import {
  byteOrderMark,
  defuseWithin,
  formulaStart,
  restoreWithin,
  toCsvLine,
} from '../export/writers/csv-writer.ts'
import { commonNames, commonValue } from '../outbox/core/common-fields.ts'
import { operationTypes } from '../outbox/core/operations.ts'
import type { CommonValues, Operation } from '../outbox/outbox.ts'
import { outcomeColumns, requestColumns } from './csv-header-words.ts'
import { isFormulaError, isNoValue, isShortenedNumber } from './spreadsheet-damage.ts'

/** The bare text `null` is included because an unquoted `null` cell means no value. */
const bareNull = /^'*null$/

/** Whether the text needs a leading apostrophe, also if it has some already. */
function isAmbiguous(text: string): boolean {
  if (formulaStart.test(text) || bareNull.test(text)) return true
  const bare = text.replace(/^'+/, '')
  return isFormulaError(bare) || isNoValue(bare) || isShortenedNumber(bare)
}

/** The cell's text, not yet quoted. */
export function toCsvCell(value: string | number | boolean | null): string {
  if (typeof value !== 'string') return String(value)
  return isAmbiguous(value) ? `'${defuseWithin(value)}` : defuseWithin(value)
}

/** For a cell that is text, and so no formula: what an import reads as this text. */
export function toTextCell(text: string): string {
  const isRead = !text.startsWith("'") && formulaStart.test(text)
  return isAmbiguous(text) && !isRead ? `'${text}` : text
}

/** The cell `null` is no value; every other cell is text. */
export function fromCsvCell(cell: string): string | null {
  if (cell === 'null') return null
  return cell.startsWith("'") && isAmbiguous(cell) ? cell.slice(1) : cell
}

/**
 * The cell of another file: the same value and the same mistakes, and never a formula. `isOwn`:
 * this program has written that file.
 */
export function toHarmlessCell(cell: string, isOwn: boolean): string {
  const inner = defuseWithin(isOwn ? restoreWithin(cell) : cell)
  return formulaStart.test(cell) && !cell.startsWith("'") ? `'${inner}` : inner
}

/** How people and spreadsheets write true and false: a spreadsheet in the language of its user. */
const trueWords = `true yes y on x 1 1.0 ✓ ✔ ☑ ☒ ja j wahr oui vrai sí si verdadero vero sim verdadeiro waar tak prawda sant
  sand sann tosi pravda doğru igaz да истина правда はい 是`
const falseWords = `false no n off 0 0.0 ✗ ✘ ☐ nein falsch non faux falso nee onwaar nie fałsz falskt falsk usann epätosi
  nepravda yanlış hamis нет ложь неправда いいえ 否`

const flags: ReadonlyMap<string, boolean> = new Map([
  ...wordsOf(trueWords).map((word) => [word, true] as const),
  ...wordsOf(falseWords).map((word) => [word, false] as const),
])

/** Undefined if it is neither. */
export function parseFlag(text: string): boolean | undefined {
  return (
    flags.get(text.trim().normalize().toLowerCase()) ??
    flags.get(text.trim().normalize().toLocaleLowerCase('tr'))
  )
}

function wordsOf(words: string): readonly string[] {
  return words.split(/\s+/)
}

export const csvHeader = `${byteOrderMark}${toCsvLine([...outcomeColumns, ...requestColumns])}`

/**
 * `outcome`: by column of the table `writebacks`. One line below `csvHeader`; importing it gives
 * the same request.
 */
export function toCsvRow(
  outcome: { readonly [C in (typeof outcomeColumns)[number]]?: string | number | null },
  request: CommonValues & { operation: Operation; target: string; payload: object },
): string {
  const { operation, target, payload } = request
  const cells: Readonly<Record<string, string | boolean | null>> = {
    operation,
    [`${operationTypes[operation].target}_id`]: target,
    ...payload,
    ...Object.fromEntries(commonNames.map((name) => [name, commonValue(request, name) ?? ''])),
  }
  return toCsvLine([
    // In an outcome, null means no value (an empty cell); in a request, null clears a field.
    ...outcomeColumns.map((column) => toCsvCell(outcome[column] ?? '')),
    ...requestColumns.map((column) => toCsvCell(cells[column] === undefined ? '' : cells[column])),
  ])
}
