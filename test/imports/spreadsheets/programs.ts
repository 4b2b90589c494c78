/**
 * Saves a sheet as spreadsheet programs do: their encodings, separators, quotes and line ends, and
 * what they make of numbers, times, errors and booleans in the language of their user.
 */
import { byteOrderMark } from '../../../src/export/writers/csv-writer.ts'

/** `number`: typed as digits, which a spreadsheet takes for a number. `time`: typed as RFC 3339. */
export type ProgramCell =
  | string
  | boolean
  | null
  | { readonly number: string }
  | { readonly time: string }
  | 'not available'

export type SpreadsheetProgram = {
  readonly name: string
  readonly save: (rows: readonly (readonly ProgramCell[])[]) => Buffer
  /** The text of a cell as the file has it, before quotes. */
  readonly show: (cell: ProgramCell) => string
}

type Language = {
  readonly yes: string
  readonly no: string
  readonly notAvailable: string
  readonly number: (digits: string) => string
  readonly time: (at: Date) => string
}

const two = (n: number) => String(n).padStart(2, '0')
const shorten = (digits: string, decimals: number) =>
  Number(digits).toExponential(decimals).replace('e', 'E')
const clock = (at: Date) => `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}`

const german: Language = {
  yes: 'WAHR',
  no: 'FALSCH',
  notAvailable: '#NV',
  number: (digits) => shorten(digits, 5).replace('.', ','),
  time: (at) =>
    `${two(at.getUTCDate())}.${two(at.getUTCMonth() + 1)}.${at.getUTCFullYear()} ${clock(at)}`,
}

const french: Language = {
  yes: 'VRAI',
  no: 'FAUX',
  notAvailable: '#N/D',
  number: (digits) => shorten(digits, 14).replace('.', ','),
  time: (at) =>
    `${two(at.getUTCDate())}/${two(at.getUTCMonth() + 1)}/${at.getUTCFullYear()} ${clock(at)}:00`,
}

const english: Language = {
  yes: 'TRUE',
  no: 'FALSE',
  notAvailable: '#N/A',
  number: (digits) => shorten(digits, 4),
  time: (at) => `${at.getUTCMonth() + 1}/${at.getUTCDate()}/${at.getUTCFullYear()} ${clock(at)}:00`,
}

function showIn(language: Language): SpreadsheetProgram['show'] {
  return (cell) => {
    if (cell === null) return ''
    if (cell === 'not available') return language.notAvailable
    if (typeof cell === 'boolean') return cell ? language.yes : language.no
    if (typeof cell === 'string') return cell
    return 'number' in cell ? language.number(cell.number) : language.time(new Date(cell.time))
  }
}

const quote = (text: string) => `"${text.replaceAll('"', '""')}"`

function joinRows(
  rows: readonly (readonly string[])[],
  separator: string,
  lineEnd: string,
): string {
  return rows.map((cells) => cells.join(separator)).join(lineEnd)
}

/** "CSV UTF-8" of a German Excel. */
export const excelCsv: SpreadsheetProgram = {
  name: 'Excel, CSV UTF-8',
  show: showIn(german),
  save(rows) {
    const cells = rows.map((row) =>
      row.map(this.show).map((text) => (/[";\r\n]/.test(text) ? quote(text) : text)),
    )
    return Buffer.from(`${byteOrderMark}${joinRows(cells, ';', '\r\n')}\r\n`)
  },
}

/** "Unicode Text" of an American Excel. */
export const excelUnicodeText: SpreadsheetProgram = {
  name: 'Excel, Unicode Text',
  show: showIn(english),
  save(rows) {
    const cells = rows.map((row) =>
      row.map(this.show).map((text) => (/[",\t\r\n]/.test(text) ? quote(text) : text)),
    )
    return Buffer.from(`${byteOrderMark}${joinRows(cells, '\t', '\r\n')}\r\n`, 'utf16le')
  },
}

/** "Text CSV" of a French LibreOffice, with "Quote all text cells". */
export const libreOffice: SpreadsheetProgram = {
  name: 'LibreOffice, Text CSV',
  show: showIn(french),
  save(rows) {
    const isText = (cell: ProgramCell) => typeof cell === 'string' && cell !== 'not available'
    const toText = (cell: ProgramCell) =>
      isText(cell) || /[",\n]/.test(this.show(cell)) ? quote(this.show(cell)) : this.show(cell)
    return Buffer.from(
      `${joinRows(
        rows.map((row) => row.map(toText)),
        ',',
        '\n',
      )}\n`,
    )
  },
}

/** "Comma-separated values" of Google Sheets: no line end behind the last row. */
export const googleSheets: SpreadsheetProgram = {
  name: 'Google Sheets, CSV',
  show: showIn(english),
  save(rows) {
    const cells = rows.map((row) =>
      row.map(this.show).map((text) => (/[",\r\n]/.test(text) ? quote(text) : text)),
    )
    return Buffer.from(joinRows(cells, ',', '\r\n'))
  },
}

export const programs = [excelCsv, excelUnicodeText, libreOffice, googleSheets] as const
