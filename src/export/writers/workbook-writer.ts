/**
 * Rows as a workbook (.xlsx) of one sheet. A text is text, whatever it looks like; times and dates
 * are real ones, which sort and pivot. Rows are written as they come, so memory stays flat.
 */
import type { CellValue, ColumnDef } from 'hucre/xlsx'
import { UserError } from '../../values/user-error.ts'
import type {
  ByteOutput,
  ExportColumn,
  ExportRow,
  ExportValue,
  RowWriter,
} from '../core/selection.ts'

/** Of Excel: more rows or characters would be lost when it saves the file. */
const maxSheetRows = 1_048_576
const maxCellLength = 32_767

/** For lists that people read: a text that a cell cannot hold is cut, and says so. */
export function fitCell(value: ExportValue): ExportValue {
  if (typeof value !== 'string' || value.length <= maxCellLength) return value
  return `${value.slice(0, 32_000)}… (cut: it has ${value.length} characters)`
}

/**
 * What a person writes into such a cell stays a text: no formula, no date, all digits. Every empty
 * one takes space for it, so only sheets that people fill in have it.
 */
const textFormat = '@'

/**
 * `name`: of the sheet. `isFilledIn`: people will write into it. Its functions throw UserError if
 * the rows exceed what Excel can hold.
 */
export function createWorkbookWriter(
  name: string,
  columns: readonly ExportColumn[],
  output: ByteOutput,
  { maxRows = maxSheetRows, isFilledIn = false } = {},
): RowWriter {
  const batches = new TransformStream<readonly ExportRow[], readonly ExportRow[]>()
  const input = batches.writable.getWriter()
  async function* cells() {
    let rows = 1
    for await (const batch of batches.readable) {
      for (const row of batch) {
        rows += 1
        if (rows > maxRows) throw tooManyRows(name)
        yield columns.map((column, n) => toCell(row[n] ?? null, column, name, rows))
      }
    }
  }
  const write = async () => {
    // It takes 50 ms to load.
    const { writeXlsxStream } = await import('hucre/xlsx')
    const sheet = name.replaceAll(/[[\]:*?/\\]/g, '_').slice(0, 31)
    const heads = columns.map((column) => toColumn(column, isFilledIn))
    const options = { name: sheet, columns: heads, freezePane: { rows: 1 } }
    for await (const bytes of writeXlsxStream(cells(), options)) await output.write(bytes)
  }
  const written = write()
  // Where it fails, the input fails as well, but does not say why.
  const orItsError = (input: Promise<void>) => Promise.race([input.catch(() => written), written])
  written.catch(() => {})
  return {
    write: (rows) => orItsError(input.write(rows)),
    end: async () => {
      await orItsError(input.close())
      await written
    },
  }
}

const formats: Readonly<Partial<Record<ExportColumn['type'], string>>> = {
  time: 'yyyy-mm-dd hh:mm:ss',
  date: 'yyyy-mm-dd',
}

/** Texts are wide enough to be recognized, and times to be shown instead of `###`. */
function toColumn({ name, type }: ExportColumn, isFilledIn: boolean): ColumnDef {
  const numFmt = type === 'text' && isFilledIn ? textFormat : formats[type]
  const width = Math.max(name.length + 2, type === 'time' || type === 'text' ? 20 : 12)
  return { header: name, width, ...(numFmt === undefined ? {} : { numFmt }) }
}

function toCell(
  value: ExportValue,
  { name, type }: ExportColumn,
  sheet: string,
  row: number,
): CellValue {
  if (typeof value === 'bigint') return String(value)
  // Excel keeps 15 digits of a number, and the others may be those of an id.
  if (typeof value === 'number') return Math.abs(value) < 1e15 ? value : String(value)
  if (typeof value !== 'string') return value
  if (type === 'time' || type === 'date') return toTime(value)
  if (value.length > maxCellLength) throw tooLongCell(sheet, name, row, value.length)
  // Excel reads `_x0041_` as an A.
  return value.replace(/_(?=x[0-9A-Fa-f]{4}_)/g, '_x005F_')
}

/** Excel has no times before 1900, and counts those before March of that year differently. */
function toTime(text: string): CellValue {
  return text < '1900-03-01' || !/^\d{4}-/.test(text) ? text : new Date(text)
}

function tooManyRows(name: string): UserError {
  return new UserError({
    what: `cannot export ${name}`,
    why: 'it has more rows than a sheet of Excel can hold: 1,048,575 below the header',
    next: 'export fewer (--since, --until, --where), or another format: csv, jsonl, parquet',
  })
}

function tooLongCell(name: string, column: string, row: number, length: number): UserError {
  return new UserError({
    what: `cannot export ${name}`,
    why:
      `${column} in row ${row} has ${length} characters, and a cell of Excel holds ` +
      `${maxCellLength}`,
    next: 'name the other columns with --columns, or choose another format: csv, jsonl, parquet',
  })
}
