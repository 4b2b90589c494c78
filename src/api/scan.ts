/**
 * Cuts the bytes of an answer into the rows of its list and all the rest, before anything is built of them: an answer of
 * sixty kilobytes may unpack to twenty million objects. It checks sizes, counts and nesting only; whether the pieces are
 * JSON is found out by whoever parses them.
 */

import { tooLarge } from './decode.ts'

export type Limits = {
  /** Bytes of an answer, those of dropped rows apart. */
  readonly bytes: number
  /** Bytes of all rows that were dropped. */
  readonly droppedBytes: number
  readonly rows: number
  /** What one row may be, and likewise all that is no row of a list. */
  readonly part: { readonly bytes: number; readonly levels: number; readonly values: number }
}

const mega = 1 << 20

/**
 * SQLite's own JSON functions read 1,000 levels. Source: its documentation, "JSON Functions And Operators". The other
 * limits make any single answer fit into 300 MB of memory with all that is made of it.
 */
export const usualLimits: Limits = {
  bytes: 40 * mega,
  droppedBytes: 512 * mega,
  rows: 150_000,
  part: { bytes: 4 * mega, levels: 1000, values: 100_000 },
}

/** Rows that are parsed together: a JSON array, with `null` in place of each row that was dropped. */
export type Portion = { readonly bytes: Buffer; readonly dropped: ReadonlyMap<number, Dropped> }

/** A row that is too large to be built: its first bytes, and why. */
export type Dropped = { readonly head: Buffer; readonly why: string }

/** An answer whose list was emptied. `portions` null: it has no list. */
export type Scanned = { readonly rest: Buffer; readonly portions: readonly Portion[] | null }

/** Why an answer cannot be read. `again`: another answer may be readable. */
export type Unreadable = { readonly why: string; readonly again: boolean }

export type Scanner = {
  /** Null, or why nothing more needs to be written. */
  readonly write: (chunk: Buffer) => Unreadable | null
  readonly end: () => Scanned
}

export function createScanner(limits: Limits = usualLimits): Scanner {
  const s = beginning(limits)
  return {
    write: (chunk) => {
      s.unreadable ??= tooMuch(s, chunk.length)
      if (s.unreadable === null) scan(s, chunk)
      return s.unreadable
    },
    end: () => {
      sealPortion(s)
      return { rest: Buffer.concat(s.rest), portions: s.found ? s.portions : null }
    },
  }
}

/** A portion is built in one go: about so many bytes and rows at the most, or a single row. */
const portionBytes = 2 * mega
const portionRows = 1000
const headBytes = 4096

type State = {
  readonly limits: Limits
  unreadable: Unreadable | null
  total: number
  level: number
  string: 'none' | 'inside' | 'escaped'
  /** The last string of the outer levels, as far as it matters: what follows it is the value of that name. */
  name: string
  inData: boolean
  found: boolean
  /** The level of the rows while within the list, else 0. */
  listLevel: number
  /** Where in the chunk the bytes begin that are to be kept and are not yet; -1 where a row is being dropped. */
  from: number
  values: number
  rest: Buffer[]
  restSize: number
  portion: { segments: Buffer[]; size: number; count: number; dropped: Map<number, Dropped> }
  portions: Portion[]
  rows: number
  droppedBytes: number
  row: Row | null
}

/** The row being read: where it begins in the chunk, or, where it began in an earlier one, from which segment on it was kept. */
type Row = { at: number; segment: number; size: number }

const [listOpen, listClose] = [Buffer.from('['), Buffer.from(']')]

const emptyPortion = () => ({ segments: [], size: 0, count: 0, dropped: new Map<number, Dropped>() })

function beginning(limits: Limits): State {
  return {
    ...{ limits, unreadable: null, total: 0, level: 0, string: 'none', name: '', inData: false, found: false },
    ...{ listLevel: 0, from: 0, values: 0, rest: [], restSize: 0, portion: emptyPortion(), portions: [] },
    ...{ rows: 0, droppedBytes: 0, row: null },
  }
}

function tooMuch(s: State, more: number): Unreadable | null {
  s.total += more
  const dropped = s.droppedBytes + (s.from === -1 ? (s.row?.size ?? 0) : 0)
  if (dropped > s.limits.droppedBytes) return { why: tooLarge(s.limits.droppedBytes), again: true }
  return s.total - dropped > s.limits.bytes ? { why: tooLarge(s.limits.bytes), again: true } : null
}

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c]
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d]

/** The bytes that mean something outside of strings. */
const structural = new Uint8Array(256)
for (const byte of [quote, comma, openList, closeList, openObject, closeObject]) structural[byte] = 1

function scan(s: State, chunk: Buffer): void {
  const end = chunk.length
  const most = s.limits.part.values
  let i = s.string === 'none' ? 0 : passString(s, chunk, 0)
  while (s.unreadable === null) {
    while (i < end && structural[chunk[i] as number] === 0) i += 1
    if (i >= end) break
    const byte = chunk[i]
    if (byte === quote) {
      i = s.listLevel > 0 ? inner(s, chunk, i + 1) : outer(s, chunk, i + 1)
      continue
    }
    // Nearly all commas are those between the members of a row.
    if (byte === comma && s.level !== s.listLevel && s.values < most) {
      s.values += 1
      i += 1
      continue
    }
    if (byte === comma) passComma(s, chunk, i)
    else if (byte === openList || byte === openObject) opened(s, chunk, i, byte)
    else closed(s, chunk, i)
    i += 1
  }
  carryOver(s, chunk)
}

/** Likewise, for strings within rows: their words do not matter, and nearly all of them end within the chunk. */
function inner(s: State, chunk: Buffer, from: number): number {
  const end = chunk.length
  let i = from
  for (; i < end && chunk[i] !== quote; i++) if (chunk[i] === backslash) i += 1
  if (i >= end) s.string = i > end ? 'escaped' : 'inside'
  return i + 1
}

function outer(s: State, chunk: Buffer, from: number): number {
  s.string = 'inside'
  s.name = ''
  return passString(s, chunk, from)
}

/** The place behind the string, or the end of the chunk. */
function passString(s: State, chunk: Buffer, from: number): number {
  const end = chunk.length
  let i = s.string === 'escaped' ? from + 1 : from
  for (; i < end && chunk[i] !== quote; i++) if (chunk[i] === backslash) i += 1
  s.string = i < end ? 'none' : i > end ? 'escaped' : 'inside'
  if (s.listLevel === 0 && s.level <= 2 && s.name.length < 8)
    s.name += chunk.toString('latin1', from, Math.min(i, from + 8))
  return i + 1
}

function passComma(s: State, chunk: Buffer, i: number): void {
  countValue(s, chunk, i)
  if (s.listLevel === 0 || s.level !== s.listLevel) return
  endRow(s, chunk, i)
  s.row = { at: i + 1, segment: -1, size: 0 }
  const { size, count } = s.portion
  if (count < portionRows && size + i - s.from < portionBytes) return
  flush(s, chunk, i)
  sealPortion(s)
  s.from = i + 1
}

function opened(s: State, chunk: Buffer, i: number, byte: number): void {
  const isList = byte === openList && s.listLevel === 0 && isNamedList(s)
  if (s.level === 1 && s.listLevel === 0) s.inData = s.name === 'data' && byte === openObject
  s.level += 1
  countValue(s, chunk, i)
  if (isList) {
    flush(s, chunk, i + 1)
    // Of a name that comes twice JSON.parse takes the last, too.
    Object.assign(s, { listLevel: s.level, found: true, values: 0, portions: [], portion: emptyPortion(), rows: 0 })
    s.row = { at: i + 1, segment: -1, size: 0 }
  } else if (s.level - s.listLevel > s.limits.part.levels) {
    giveUp(s, chunk, i, `is nested more than ${s.limits.part.levels} levels deep`)
  }
}

/** `data.items`, or `data` itself. */
function isNamedList({ level, name, inData }: State): boolean {
  return (level === 1 && name === 'data') || (level === 2 && inData && name === 'items')
}

function closed(s: State, chunk: Buffer, i: number): void {
  if (s.listLevel > 0 && s.level === s.listLevel) {
    endRow(s, chunk, i)
    flush(s, chunk, i)
    sealPortion(s)
    s.listLevel = 0
  }
  s.level -= 1
}

function countValue(s: State, chunk: Buffer, i: number): void {
  s.values += 1
  if (s.values > s.limits.part.values) giveUp(s, chunk, i, `has more than ${s.limits.part.values} values`)
}

function endRow(s: State, chunk: Buffer, i: number): void {
  s.values = 0
  const { row } = s
  if (row === null) return
  const size = row.size + i - Math.max(row.at, 0)
  if (s.from !== -1 && size > s.limits.part.bytes) drop(s, chunk, i, tooLong(s))
  if (s.from === -1) {
    s.droppedBytes += size
    s.from = i
  }
  s.row = null
  s.portion.count += 1
  s.rows += 1
  if (s.rows > s.limits.rows) s.unreadable = { why: `a list of more than ${s.limits.rows} rows`, again: false }
}

function tooLong({ limits }: State): string {
  return `is longer than ${limits.part.bytes} bytes`
}

/** What is too large is a row, which is dropped, or the rest, without which nothing is worth anything. */
function giveUp(s: State, chunk: Buffer, i: number, why: string): void {
  if (s.row !== null && s.listLevel > 0) drop(s, chunk, i, why)
  else s.unreadable = { why: `an answer that ${why}`, again: false }
}

function drop(s: State, chunk: Buffer, i: number, why: string): void {
  const { row, portion } = s
  if (row === null || s.from === -1) return
  if (row.segment === -1) flush(s, chunk, row.at)
  const kept = row.segment === -1 ? [] : portion.segments.splice(row.segment)
  const head = firstBytes([...kept, chunk.subarray(Math.max(row.at, 0), i)])
  portion.dropped.set(portion.count, { head, why: `it ${why}` })
  portion.segments.push(Buffer.from('null'))
  s.from = -1
}

function firstBytes(parts: readonly Buffer[]): Buffer {
  const head = Buffer.alloc(headBytes)
  let size = 0
  for (const part of parts) {
    if (size === headBytes) break
    size += part.copy(head, size)
  }
  return head.subarray(0, size)
}

/** Keeps what of the chunk comes before `to`. */
function flush(s: State, chunk: Buffer, to: number): void {
  if (s.from === -1 || to <= s.from) return
  const bytes = chunk.subarray(s.from, to)
  if (s.listLevel > 0) {
    s.portion.segments.push(bytes)
    s.portion.size += bytes.length
  } else {
    s.rest.push(bytes)
    s.restSize += bytes.length
    if (s.restSize > s.limits.part.bytes) s.unreadable = { why: `an answer that ${tooLong(s)}`, again: false }
  }
  s.from = to
}

function sealPortion(s: State): void {
  const { segments, dropped } = s.portion
  if (segments.length > 0) s.portions.push({ bytes: Buffer.concat([listOpen, ...segments, listClose]), dropped })
  s.portion = emptyPortion()
}

/** The end of a chunk within whatever is being read. */
function carryOver(s: State, chunk: Buffer): void {
  const { row } = s
  if (row !== null) {
    row.size += chunk.length - Math.max(row.at, 0)
    if (row.segment === -1 && s.from !== -1) {
      flush(s, chunk, row.at)
      row.segment = s.portion.segments.length
    }
    row.at = -1
    if (s.from !== -1 && row.size > s.limits.part.bytes) {
      flush(s, chunk, chunk.length)
      drop(s, chunk, 0, tooLong(s))
    }
  }
  flush(s, chunk, chunk.length)
  if (s.from !== -1) s.from = 0
}
