/** CSV (RFC 4180). In exports an empty cell is null, and a quoted one the empty text. */
import type { CsvSeparatorChoice } from '../core/formats.ts'
import type { ByteOutput, ExportColumn, ExportValue, RowWriter } from '../core/selection.ts'

/**
 * The text as a cell that no spreadsheet executes: an apostrophe stands before each formula. One
 * may begin after a separator or line break within the text, too, as a spreadsheet may split the
 * file at other separators and not see the quotes.
 */
export function defuse(text: string): string {
  const inner = defuseWithin(text)
  return formulaStart.test(text) ? `'${inner}` : inner
}

/** After separators and line breaks within the text. */
export const defuseWithin = (text: string): string =>
  changeInnerFormulas(text, (found) => `'${found}`)

/** The text that `defuseWithin` has changed. */
export const restoreWithin = (text: string): string =>
  changeInnerFormulas(text, (found) => found.replace(/^'/, ''))

const operators = '=+-@＝＋－＠'

/**
 * `change`: of the apostrophes and the operator. A regular expression would take quadratic time.
 */
function changeInnerFormulas(text: string, change: (found: string) => string): string {
  const parts: string[] = []
  let end = 0
  let from = -1
  let isStart = false
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at)
    if (/[,;\t\r\n]/.test(character)) [isStart, from] = [true, -1]
    else if (isStart && from < 0 && /[\s"]/.test(character)) continue
    else if (isStart && character === "'") from = from < 0 ? at : from
    else {
      if (isStart && operators.includes(character)) {
        const start = from < 0 ? at : from
        parts.push(text.slice(end, start), change(text.slice(start, at + 1)))
        end = at + 1
      }
      isStart = false
    }
  }
  return end === 0 ? text : [...parts, text.slice(end)].join('')
}

/** A formula may follow spaces, and East Asian editions accept full-width operators. */
export const formulaStart = /^'*(?:[\t\r\n]|\s*[=+\-@＝＋－＠])/

/** Spreadsheets otherwise misread UTF-8 and save it damaged. */
export const byteOrderMark = '\uFEFF'

/** Quotes what some edition may take for a separator, and outer spaces, which some trim. */
export function quoteCsvCell(cell: string): string {
  return /[",;\t\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}

/** One CSV line, including its CR LF. */
export function toCsvLine(cells: readonly string[]): string {
  return `${cells.map(quoteCsvCell).join(',')}\r\n`
}

/**
 * `forSpreadsheets`: with a byte order mark, and an apostrophe before what would be executed as a
 * formula. `escapeText`: what is done instead of the latter.
 */
export type CsvOptions = {
  readonly forSpreadsheets: boolean
  readonly separator?: CsvSeparatorChoice
  readonly escapeText?: (text: string) => string
}

export function createCsvWriter(
  columns: readonly ExportColumn[],
  output: ByteOutput,
  { forSpreadsheets, separator = ',', escapeText = defuse }: CsvOptions,
): RowWriter {
  const toCell = (value: ExportValue) => {
    if (typeof value !== 'string') return value === null ? '' : String(value)
    if (value === '') return '""'
    return quoteCsvCell(forSpreadsheets ? escapeText(value) : value)
  }
  const toLine = (row: readonly ExportValue[]) => `${row.map(toCell).join(separator)}\r\n`
  let header = `${forSpreadsheets ? byteOrderMark : ''}${toLine(columns.map(({ name }) => name))}`
  const write: RowWriter['write'] = async (rows) => {
    const bytes = Buffer.from(header + rows.map(toLine).join(''))
    header = ''
    if (bytes.length > 0) await output.write(bytes)
  }
  return { write, end: () => write([]) }
}
