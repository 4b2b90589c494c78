/** The thread behind `workbook.ts`: reads one workbook, and answers with its CSV. */
import { parentPort, workerData } from 'node:worker_threads'
import { unzipSync, zipSync } from 'fflate'
import { type CellValue, readXlsx, streamXlsxRows } from 'hucre/xlsx'
import { rfc3339 } from '../values/time.ts'
import type { SheetHead, WorkbookAnswer, WorkbookQuestion } from './workbook.ts'

/** Rows of titles above the header are common. */
const headRows = 10
const maxRows = 1_048_576

class Refusal extends Error {
  readonly answer: WorkbookAnswer
  constructor(answer: WorkbookAnswer) {
    super('refused')
    this.answer = answer
  }
}
const tooLarge = new Refusal({ problem: 'too large' })

/**
 * A cell with a formula without a stored result, as scripts write them; it would be read as an empty
 * one. Only a text may be empty.
 */
const openFormula =
  /<c (?![^<>]*\bt="str")[^<>]*><f\b(?:[^<>]*\/>|[^<>]*>[^<>]*<\/f>)(?:<v\s*\/>|<v><\/v>)?<\/c>/

const { workbook, sheet, maxBytes }: WorkbookQuestion = workerData

parentPort?.postMessage(await answer())

async function answer(): Promise<WorkbookAnswer> {
  try {
    const unpacked = unpack()
    if (sheet !== null) return { csv: await writeCsv(unpacked, sheet) }
    const names = await visibleSheets(unpacked)
    const [only = '', ...others] = names
    if (others.length === 0) return { csv: await writeCsv(unpacked, only) }
    const heads: SheetHead[] = []
    for (const name of names) heads.push(await readHead(unpacked, name))
    return { heads }
  } catch (error) {
    return error instanceof Refusal ? error.answer : { problem: 'unreadable' }
  }
}

/**
 * The parts that matter, packed again: what is read then has the size that was counted, whatever
 * the headers of the file say.
 */
function unpack(): Uint8Array {
  let size = 0
  const isNeeded = ({ name, originalSize }: { name: string; originalSize: number }) => {
    if (!/\.(?:xml|rels)$/.test(name)) return false
    size += originalSize
    if (size > maxBytes) throw tooLarge
    return true
  }
  const parts = unzipSync(workbook, { filter: isNeeded })
  for (const [name, part] of Object.entries(parts)) {
    if (!isWhole(part)) throw new Error(`${name} is cut short`)
    const bytes = Buffer.from(part.buffer, part.byteOffset, part.byteLength)
    const found = bytes.includes('<f') ? openFormula.exec(bytes.toString('latin1')) : null
    if (found === null) continue
    const cell = /\br="(\w{1,10})"/.exec(found[0])?.[1] ?? null
    throw new Refusal({ problem: 'uncalculated', cell })
  }
  return zipSync(parts, { level: 1 })
}

/** A wrong size in the header of the file cuts a part short. */
function isWhole(part: Uint8Array): boolean {
  const [start, end] = [part.subarray(0, 1000), part.subarray(-100)].map((bytes) =>
    Buffer.from(bytes).toString('latin1'),
  )
  const root = /<([\w:]+)/.exec(start ?? '')?.[1] ?? ''
  const isEmpty = /^(?:<\?[^>]*>\s*)?<[^>]*\/>\s*$/.test(start ?? '')
  return isEmpty || end?.trimEnd().endsWith(`</${root}>`) === true
}

async function visibleSheets(unpacked: Uint8Array): Promise<readonly string[]> {
  const names: string[] = []
  await readXlsx(unpacked, {
    sheets: ({ name, hidden, veryHidden }) => {
      if (!hidden && !veryHidden) names.push(name)
      return false
    },
  })
  return names
}

async function readHead(unpacked: Uint8Array, name: string): Promise<SheetHead> {
  const rows: (readonly string[])[] = []
  for await (const { values } of streamXlsxRows(unpacked, { sheet: name, maxRows: headRows }))
    rows.push(values.map(toText))
  return { name, rows }
}

async function writeCsv(unpacked: Uint8Array, name: string): Promise<Uint8Array> {
  const parts: Buffer[] = []
  let size = 0
  let rows = 0
  for await (const { index, values } of streamXlsxRows(unpacked, { sheet: name })) {
    if (!(index >= rows && index < maxRows)) throw new Error('its rows are not in order')
    const line = Buffer.from(`${'\n'.repeat(index - rows)}${values.map(toCell).join(',')}\n`)
    rows = index + 1
    size += line.length
    if (size > maxBytes) throw tooLarge
    parts.push(line)
  }
  return Buffer.concat(parts)
}

function toCell(value: CellValue): string {
  const text = toText(value)
  return text === '' ? '' : `"${text.replaceAll('"', '""')}"`
}

/**
 * What a spreadsheet shows of a plain cell. A time has no zone there, so none is assumed, and a date
 * has no time.
 */
function toText(value: CellValue): string {
  if (value === null) return ''
  if (typeof value === 'number') return toDigits(value)
  // Of Windows, which shows and means the same.
  if (!(value instanceof Date)) return String(value).replaceAll('\r\n', '\n')
  const seconds = Math.round(value.getTime() / 1000)
  return Number.isNaN(seconds) ? '###' : rfc3339(seconds).slice(0, -1).replace('T00:00:00', '')
}

/**
 * Excel keeps 15 digits of a number. Of a longer one, such as an id that was not text, the others
 * are lost, which the exponent shows.
 */
function toDigits(value: number): string {
  const digits = Number(value.toPrecision(15))
  return Math.abs(digits) < 1e15 ? String(digits) : digits.toExponential().toUpperCase()
}
