/**
 * Finds out how a file is written, from its beginning: encoding, line ends, JSON Lines or CSV, and
 * the separator. Pure.
 */
import { detectUtf16, type Utf16 } from '../values/file-text.ts'
import { UserError } from '../values/user-error.ts'
import { knownColumn } from './csv-header-words.ts'

export const csvSeparators = [',', ';', '\t', '|'] as const
export type CsvSeparator = (typeof csvSeparators)[number]

export type FileForm = {
  /** A name that TextDecoder knows. */
  readonly encoding: string
  /** Excel for the Mac ends lines with CR alone. */
  readonly lineEnd: 'lf' | 'cr'
  readonly format: 'jsonl' | 'csv'
  readonly separator: CsvSeparator
  /**
   * The first line is `sep=;`, which only names the separator: spreadsheets do not show it as a
   * row.
   */
  readonly hasSeparatorLine: boolean
}

export type FormOptions = {
  /** `auto` decides by the first non-blank character. */
  readonly format?: 'jsonl' | 'csv' | 'auto'
  /** Of a file that is not Unicode: a name that TextDecoder knows. */
  readonly encoding?: string
}

/** `head`: at least the first row. Throws UserError if the file is not text. */
export function detectFileForm(
  head: Uint8Array,
  { format = 'auto', encoding = 'utf-8' }: FormOptions = {},
): FileForm {
  const utf16 = detectUtf16(head)
  if (utf16 === null) rejectOtherFiles(head)
  const text = new TextDecoder(utf16 ?? 'utf-8').decode(head)
  const lineEnd = /^[^\r\n]*\r(?!\n|$)/.test(text) ? 'cr' : 'lf'
  const separatorLine = /^"?sep=([,;\t|])"?(?:\r\n?|\n)/i.exec(text)
  const header = firstLine(text.slice(separatorLine?.[0].length ?? 0))
  return {
    encoding: utf16 ?? encoding,
    lineEnd,
    // A JSON array is neither JSON Lines nor CSV, but the JSON parser's mistakes explain it better.
    format: format === 'auto' ? (/^[{[]/.test(header) ? 'jsonl' : 'csv') : format,
    separator:
      csvSeparators.find((separator) => separator === separatorLine?.[1]) ??
      detectSeparator(header),
    hasSeparatorLine: separatorLine !== null,
  }
}

/**
 * Without blank lines before it. A line end in quotes, as in a header cell of two lines, does not
 * end it.
 */
function firstLine(text: string): string {
  return /^(?:"(?:[^"]|"")*"|[^"\r\n])*/.exec(text.trimStart())?.[0] ?? ''
}

/**
 * The separator that gives most columns of an import, else most cells. Some locales use semicolons
 * or tabs.
 */
function detectSeparator(header: string): CsvSeparator {
  const scores = csvSeparators.map((separator) => {
    const cells = header.split(separator)
    const known = cells.filter((cell) => knownColumn(cell) !== undefined).length
    return known * 10_000 + cells.length
  })
  return csvSeparators[scores.indexOf(Math.max(...scores))] ?? ','
}

/** How files that people take for CSV begin. */
const otherFiles: readonly (readonly [start: string, what: string])[] = [
  ['\xd0\xcf\x11\xe0', 'it is a workbook with a password, or of Excel 97–2003 (.xls)'],
  ['%PDF', 'it is a PDF'],
  ['{\\rtf', 'it is a text with formatting (RTF)'],
  ['\x1f\x8b', 'it is compressed (gzip)'],
  ...['<!doctype', '<html', '<head', '<table', '<?xml'].map(
    (tag) => [tag, 'it is a web page or XML'] as const,
  ),
]

function rejectOtherFiles(head: Uint8Array): void {
  const start = Buffer.from(head.subarray(0, 200))
    .toString('latin1')
    .replace(/^\xef\xbb\xbf/, '')
    .trimStart()
  const named = otherFiles.find(([beginning]) =>
    start.toLowerCase().startsWith(beginning.toLowerCase()),
  )?.[1]
  const why = named ?? (start.slice(0, 64).includes('\0') ? 'it is not a text' : undefined)
  if (why === undefined) return
  const next =
    'save it as an Excel workbook (.xlsx) without a password, or as CSV (Excel: CSV UTF-8; ' +
    'LibreOffice: Text CSV; Google Sheets: Comma-separated values), and import that file'
  throw fileError(why, next)
}

export function fileError(why: string, next: string, exitCode: 1 | 2 = 2): UserError {
  return new UserError({ what: 'cannot import the file', why, next, exitCode })
}

/**
 * Half a character becomes this byte, which makes its line invalid UTF-8 instead of changing its
 * text.
 */
const invalidUtf8 = Buffer.of(0xff)

export async function* utf16ToUtf8(
  bytes: AsyncIterable<Uint8Array>,
  encoding: Utf16,
): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder(encoding)
  for await (const chunk of bytes) yield encodeUtf8(decoder.decode(chunk, { stream: true }))
  yield encodeUtf8(decoder.decode())
}

function encodeUtf8(text: string): Uint8Array {
  const parts = text.split('\uFFFD').map((part) => Buffer.from(part))
  return Buffer.concat(parts.flatMap((part, index) => (index === 0 ? [part] : [invalidUtf8, part])))
}
