/**
 * Cuts the bytes of an answer into the rows of its list and all the rest, before anything is built of them: an answer of
 * sixty kilobytes may unpack to twenty million objects. It checks sizes, counts and nesting only; whether the pieces are
 * JSON is found out by whoever parses them.
 */

import { tooLargeText } from './decode.ts'

export type ResponseLimits = {
  /** Bytes of an answer, those of dropped rows apart. */
  readonly bytes: number
  /** Bytes of all rows that were dropped. */
  readonly droppedBytes: number
  readonly rows: number
  /** What one row may be, and likewise all that is no row of a list. */
  readonly perPart: { readonly bytes: number; readonly levels: number; readonly values: number }
}

const mebibyte = 1 << 20

/**
 * SQLite's own JSON functions read 1,000 levels. Source: its documentation, "JSON Functions And Operators". The other
 * limits make any single answer fit into 300 MB of memory with all that is made of it.
 */
export const defaultResponseLimits: ResponseLimits = {
  bytes: 40 * mebibyte,
  droppedBytes: 512 * mebibyte,
  rows: 150_000,
  perPart: { bytes: 4 * mebibyte, levels: 1000, values: 100_000 },
}

/** Rows that are parsed together: a JSON array, with `null` in place of each row that was dropped. */
export type RowBatch = { readonly bytes: Buffer; readonly dropped: ReadonlyMap<number, DroppedRow> }

/** A row that is too large to be built: its first bytes, and why. */
export type DroppedRow = { readonly head: Buffer; readonly why: string }

/** An answer whose list was emptied. `portions` null: it has no list. */
export type SplitBody = { readonly rest: Buffer; readonly batches: readonly RowBatch[] | null }

/** Why an answer cannot be read. `again`: another answer may be readable. */
export type UnreadableReason = { readonly why: string; readonly isRetryable: boolean }

export type RowSplitter = {
  /** Null, or why nothing more needs to be written. */
  readonly write: (chunk: Buffer) => UnreadableReason | null
  readonly end: () => SplitBody
}

export function createRowSplitter(limits: ResponseLimits = defaultResponseLimits): RowSplitter {
  const state = initialState(limits)
  return {
    write: (chunk) => {
      state.unreadable ??= checkTotalSize(state, chunk.length)
      if (state.unreadable === null) splitChunk(state, chunk)
      return state.unreadable
    },
    end: () => {
      sealBatch(state)
      return { rest: Buffer.concat(state.rest), batches: state.found ? state.portions : null }
    },
  }
}

/** A portion is built in one go: about so many bytes and rows at the most, or a single row. */
const batchBytes = 2 * mebibyte
const batchRows = 1000
const droppedHeadBytes = 4096

type SplitterState = {
  readonly limits: ResponseLimits
  unreadable: UnreadableReason | null
  totalBytes: number
  level: number
  stringState: 'none' | 'inside' | 'escaped'
  /** The last string of the outer levels, as far as it matters: what follows it is the value of that name. */
  name: string
  inData: boolean
  found: boolean
  /** The level of the rows while within the list, else 0. */
  listLevel: number
  /** Where in the chunk the bytes begin that are to be kept and are not yet; -1 where a row is being dropped. */
  keepFrom: number
  values: number
  rest: Buffer[]
  restSize: number
  portion: { segments: Buffer[]; size: number; count: number; dropped: Map<number, DroppedRow> }
  portions: RowBatch[]
  rows: number
  droppedBytes: number
  row: CurrentRow | null
}

/** The row being read: where it begins in the chunk, or, where it began in an earlier one, from which segment on it was kept. */
type CurrentRow = { start: number; firstSegment: number; size: number }

const [listOpen, listClose] = [Buffer.from('['), Buffer.from(']')]

const emptyRowBatch = () => ({ segments: [], size: 0, count: 0, dropped: new Map<number, DroppedRow>() })

function initialState(limits: ResponseLimits): SplitterState {
  return {
    ...{ limits, unreadable: null, totalBytes: 0, level: 0, stringState: 'none', name: '', inData: false, found: false },
    ...{ listLevel: 0, keepFrom: 0, values: 0, rest: [], restSize: 0, portion: emptyRowBatch(), portions: [] },
    ...{ rows: 0, droppedBytes: 0, row: null },
  }
}

function checkTotalSize(state: SplitterState, addedBytes: number): UnreadableReason | null {
  state.totalBytes += addedBytes
  const dropped = state.droppedBytes + (state.keepFrom === -1 ? (state.row?.size ?? 0) : 0)
  if (dropped > state.limits.droppedBytes) return { why: tooLargeText(state.limits.droppedBytes), isRetryable: true }
  return state.totalBytes - dropped > state.limits.bytes ? { why: tooLargeText(state.limits.bytes), isRetryable: true } : null
}

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c]
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d]

/** The bytes that mean something outside of strings. */
const structural = new Uint8Array(256)
for (const byte of [quote, comma, openList, closeList, openObject, closeObject]) structural[byte] = 1

function splitChunk(state: SplitterState, chunk: Buffer): void {
  const end = chunk.length
  const maxValues = state.limits.perPart.values
  let i = state.stringState === 'none' ? 0 : skipOuterString(state, chunk, 0)
  while (state.unreadable === null) {
    while (i < end && structural[chunk[i] as number] === 0) i += 1
    if (i >= end) break
    const byte = chunk[i]
    if (byte === quote) {
      i = state.listLevel > 0 ? skipRowString(state, chunk, i + 1) : startOuterString(state, chunk, i + 1)
      continue
    }
    // Nearly all commas are those between the members of a row.
    if (byte === comma && state.level !== state.listLevel && state.values < maxValues) {
      state.values += 1
      i += 1
      continue
    }
    if (byte === comma) handleComma(state, chunk, i)
    else if (byte === openList || byte === openObject) handleOpening(state, chunk, i, byte)
    else handleClosing(state, chunk, i)
    i += 1
  }
  finishChunk(state, chunk)
}

/** Likewise, for strings within rows: their words do not matter, and nearly all of them end within the chunk. */
function skipRowString(state: SplitterState, chunk: Buffer, from: number): number {
  const end = chunk.length
  let i = from
  for (; i < end && chunk[i] !== quote; i++) if (chunk[i] === backslash) i += 1
  if (i >= end) state.stringState = i > end ? 'escaped' : 'inside'
  return i + 1
}

function startOuterString(state: SplitterState, chunk: Buffer, from: number): number {
  state.stringState = 'inside'
  state.name = ''
  return skipOuterString(state, chunk, from)
}

/** The place behind the string, or the end of the chunk. */
function skipOuterString(state: SplitterState, chunk: Buffer, from: number): number {
  const end = chunk.length
  let i = state.stringState === 'escaped' ? from + 1 : from
  for (; i < end && chunk[i] !== quote; i++) if (chunk[i] === backslash) i += 1
  state.stringState = i < end ? 'none' : i > end ? 'escaped' : 'inside'
  if (state.listLevel === 0 && state.level <= 2 && state.name.length < 8)
    state.name += chunk.toString('latin1', from, Math.min(i, from + 8))
  return i + 1
}

function handleComma(state: SplitterState, chunk: Buffer, i: number): void {
  countValue(state, chunk, i)
  if (state.listLevel === 0 || state.level !== state.listLevel) return
  endRow(state, chunk, i)
  state.row = { start: i + 1, firstSegment: -1, size: 0 }
  const { size, count } = state.portion
  if (count < batchRows && size + i - state.keepFrom < batchBytes) return
  keepUpTo(state, chunk, i)
  sealBatch(state)
  state.keepFrom = i + 1
}

function handleOpening(state: SplitterState, chunk: Buffer, i: number, byte: number): void {
  const isList = byte === openList && state.listLevel === 0 && isRowList(state)
  if (state.level === 1 && state.listLevel === 0) state.inData = state.name === 'data' && byte === openObject
  state.level += 1
  countValue(state, chunk, i)
  if (isList) {
    keepUpTo(state, chunk, i + 1)
    // Of a name that comes twice JSON.parse takes the last, too.
    Object.assign(state, { listLevel: state.level, found: true, values: 0, portions: [], portion: emptyRowBatch(), rows: 0 })
    state.row = { start: i + 1, firstSegment: -1, size: 0 }
  } else if (state.level - state.listLevel > state.limits.perPart.levels) {
    rejectOversized(state, chunk, i, `is nested more than ${state.limits.perPart.levels} levels deep`)
  }
}

/** `data.items`, or `data` itself. */
function isRowList({ level, name, inData }: SplitterState): boolean {
  return (level === 1 && name === 'data') || (level === 2 && inData && name === 'items')
}

function handleClosing(state: SplitterState, chunk: Buffer, i: number): void {
  if (state.listLevel > 0 && state.level === state.listLevel) {
    endRow(state, chunk, i)
    keepUpTo(state, chunk, i)
    sealBatch(state)
    state.listLevel = 0
  }
  state.level -= 1
}

function countValue(state: SplitterState, chunk: Buffer, i: number): void {
  state.values += 1
  if (state.values > state.limits.perPart.values) rejectOversized(state, chunk, i, `has more than ${state.limits.perPart.values} values`)
}

function endRow(state: SplitterState, chunk: Buffer, i: number): void {
  state.values = 0
  const { row } = state
  if (row === null) return
  const size = row.size + i - Math.max(row.start, 0)
  if (state.keepFrom !== -1 && size > state.limits.perPart.bytes) dropRow(state, chunk, i, tooLongText(state))
  if (state.keepFrom === -1) {
    state.droppedBytes += size
    state.keepFrom = i
  }
  state.row = null
  state.portion.count += 1
  state.rows += 1
  if (state.rows > state.limits.rows) state.unreadable = { why: `a list of more than ${state.limits.rows} rows`, isRetryable: false }
}

function tooLongText({ limits }: SplitterState): string {
  return `is longer than ${limits.perPart.bytes} bytes`
}

/** What is too large is a row, which is dropped, or the rest, without which nothing is worth anything. */
function rejectOversized(state: SplitterState, chunk: Buffer, i: number, why: string): void {
  if (state.row !== null && state.listLevel > 0) dropRow(state, chunk, i, why)
  else state.unreadable = { why: `an answer that ${why}`, isRetryable: false }
}

function dropRow(state: SplitterState, chunk: Buffer, i: number, why: string): void {
  const { row, portion } = state
  if (row === null || state.keepFrom === -1) return
  if (row.firstSegment === -1) keepUpTo(state, chunk, row.start)
  const kept = row.firstSegment === -1 ? [] : portion.segments.splice(row.firstSegment)
  const head = firstBytes([...kept, chunk.subarray(Math.max(row.start, 0), i)])
  portion.dropped.set(portion.count, { head, why: `it ${why}` })
  portion.segments.push(Buffer.from('null'))
  state.keepFrom = -1
}

function firstBytes(parts: readonly Buffer[]): Buffer {
  const head = Buffer.alloc(droppedHeadBytes)
  let size = 0
  for (const part of parts) {
    if (size === droppedHeadBytes) break
    size += part.copy(head, size)
  }
  return head.subarray(0, size)
}

/** Keeps what of the chunk comes before `to`. */
function keepUpTo(state: SplitterState, chunk: Buffer, to: number): void {
  if (state.keepFrom === -1 || to <= state.keepFrom) return
  const bytes = chunk.subarray(state.keepFrom, to)
  if (state.listLevel > 0) {
    state.portion.segments.push(bytes)
    state.portion.size += bytes.length
  } else {
    state.rest.push(bytes)
    state.restSize += bytes.length
    if (state.restSize > state.limits.perPart.bytes) state.unreadable = { why: `an answer that ${tooLongText(state)}`, isRetryable: false }
  }
  state.keepFrom = to
}

function sealBatch(state: SplitterState): void {
  const { segments, dropped } = state.portion
  if (segments.length > 0) state.portions.push({ bytes: Buffer.concat([listOpen, ...segments, listClose]), dropped })
  state.portion = emptyRowBatch()
}

/** The end of a chunk within whatever is being read. */
function finishChunk(state: SplitterState, chunk: Buffer): void {
  const { row } = state
  if (row !== null) {
    row.size += chunk.length - Math.max(row.start, 0)
    if (row.firstSegment === -1 && state.keepFrom !== -1) {
      keepUpTo(state, chunk, row.start)
      row.firstSegment = state.portion.segments.length
    }
    row.start = -1
    if (state.keepFrom !== -1 && row.size > state.limits.perPart.bytes) {
      keepUpTo(state, chunk, chunk.length)
      dropRow(state, chunk, 0, tooLongText(state))
    }
  }
  keepUpTo(state, chunk, chunk.length)
  if (state.keepFrom !== -1) state.keepFrom = 0
}
