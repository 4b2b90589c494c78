/**
 * Encodes values as CSV cells and decodes them. A spreadsheet executes a cell that looks like a formula, an import refuses
 * what looks like the error of one, and visitors write some of these texts: such a text gets a leading `'`, which is
 * removed when it is read.
 */
import { formulaStart } from '../../core/csv.ts'
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
  return isAmbiguous(value) ? `'${value}` : value
}

/** The cell `null` is no value; every other cell is text. */
export function fromCsvCell(cell: string): string | null {
  if (cell === 'null') return null
  return cell.startsWith("'") && isAmbiguous(cell) ? cell.slice(1) : cell
}

/** The cell of another file: the same value and the same mistakes, and never a formula. */
export function toHarmlessCell(cell: string): string {
  return formulaStart.test(cell) && !cell.startsWith("'") ? `'${cell}` : cell
}
