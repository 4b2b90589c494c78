/** What the row splitter keeps of a response: batches of rows, and the rest. Rows that are too large are dropped. */
import { tooLargeText } from './decode.ts'

export type ResponseLimits = {
  /** Bytes of a response, without those of dropped rows. */
  readonly bytes: number
  /** Bytes of all dropped rows. */
  readonly droppedBytes: number
  readonly rows: number
  /** Limits of one row, and of all that is not a row of the list. */
  readonly perPart: { readonly bytes: number; readonly levels: number; readonly values: number }
}

const mebibyte = 1 << 20

/**
 * SQLite's own JSON functions read 1,000 levels. Source: its documentation, "JSON Functions And Operators". The other
 * limits make any single response, with everything built from it, fit into 300 MB of memory.
 */
export const defaultResponseLimits: ResponseLimits = {
  bytes: 40 * mebibyte,
  droppedBytes: 512 * mebibyte,
  rows: 150_000,
  perPart: { bytes: 4 * mebibyte, levels: 1000, values: 100_000 },
}

/** Rows that are parsed together: a JSON array, with `null` in place of each dropped row. */
export type RowBatch = { readonly bytes: Buffer; readonly dropped: ReadonlyMap<number, DroppedRow> }

/** A row that is too large to be parsed: its first bytes, and why. */
type DroppedRow = { readonly head: Buffer; readonly why: string }

/** A response without the rows of its list. `batches` null: it has no list. */
export type SplitBody = { readonly rest: Buffer; readonly batches: readonly RowBatch[] | null }

/** Why a response cannot be read. `isRetryable`: another one may be readable. */
export type UnreadableReason = { readonly why: string; readonly isRetryable: boolean }

/** A batch is parsed at once: about this many bytes and rows at most, or a single row. */
const batchBytes = 2 * mebibyte
const batchRows = 1000
const droppedHeadBytes = 4096

export type SplitterState = {
  readonly limits: ResponseLimits
  unreadable: UnreadableReason | null
  totalBytes: number
  level: number
  stringState: 'none' | 'inside' | 'escaped'
  /** The last string of the outer levels, as far as needed: the value that follows may be the list of this name. */
  name: string
  inData: boolean
  hasList: boolean
  /** The level of the rows while within the list, else 0. */
  listLevel: number
  /** Index in the chunk of the first byte that is not kept yet; -1 while a row is being dropped. */
  keepFrom: number
  values: number
  rest: Buffer[]
  restSize: number
  batch: { segments: Buffer[]; size: number; count: number; dropped: Map<number, DroppedRow> }
  batches: RowBatch[]
  rowCount: number
  droppedBytes: number
  currentRow: CurrentRow | null
}

/** `start`: in this chunk; -1 if it began in an earlier one, kept from `firstSegment` on. */
type CurrentRow = { start: number; firstSegment: number; size: number }

const [listStartBytes, listEndBytes] = [Buffer.from('['), Buffer.from(']')]

const emptyRowBatch = () => ({ segments: [], size: 0, count: 0, dropped: new Map<number, DroppedRow>() })

export function createSplitterState(limits: ResponseLimits): SplitterState {
  return {
    ...{ limits, unreadable: null, totalBytes: 0, level: 0, stringState: 'none', name: '', inData: false },
    ...{ listLevel: 0, keepFrom: 0, values: 0, rest: [], restSize: 0, batch: emptyRowBatch(), batches: [] },
    ...{ hasList: false, rowCount: 0, droppedBytes: 0, currentRow: null },
  }
}

export function toSplitBody(state: SplitterState): SplitBody {
  sealBatch(state)
  return { rest: Buffer.concat(state.rest), batches: state.hasList ? state.batches : null }
}

export function checkTotalSize(state: SplitterState, addedBytes: number): UnreadableReason | null {
  state.totalBytes += addedBytes
  const { totalBytes, droppedBytes, keepFrom, currentRow, limits } = state
  const dropped = droppedBytes + (keepFrom === -1 ? (currentRow?.size ?? 0) : 0)
  if (dropped > limits.droppedBytes) return { why: tooLargeText(limits.droppedBytes), isRetryable: true }
  return totalBytes - dropped > limits.bytes ? { why: tooLargeText(limits.bytes), isRetryable: true } : null
}

/** The list starts at index `i`. If a name occurs twice, JSON.parse takes the last list, and so does this. */
export function openList(state: SplitterState, chunk: Buffer, i: number): void {
  keepUpTo(state, chunk, i + 1)
  state.listLevel = state.level
  state.hasList = true
  state.values = 0
  state.batches = []
  state.batch = emptyRowBatch()
  state.rowCount = 0
  state.currentRow = { start: i + 1, firstSegment: -1, size: 0 }
}

/** Ends the row at the comma at index `i`, and begins the next one. */
export function addRow(state: SplitterState, chunk: Buffer, i: number): void {
  endRow(state, chunk, i)
  state.currentRow = { start: i + 1, firstSegment: -1, size: 0 }
  const { size, count } = state.batch
  if (count < batchRows && size + i - state.keepFrom < batchBytes) return
  keepUpTo(state, chunk, i)
  sealBatch(state)
  state.keepFrom = i + 1
}

export function closeList(state: SplitterState, chunk: Buffer, i: number): void {
  endRow(state, chunk, i)
  keepUpTo(state, chunk, i)
  sealBatch(state)
  state.listLevel = 0
}

function endRow(state: SplitterState, chunk: Buffer, i: number): void {
  state.values = 0
  const row = state.currentRow
  if (row === null) return
  const size = row.size + i - Math.max(row.start, 0)
  if (state.keepFrom !== -1 && size > state.limits.perPart.bytes) dropRow(state, chunk, i, tooLongText(state))
  if (state.keepFrom === -1) {
    state.droppedBytes += size
    state.keepFrom = i
  }
  state.currentRow = null
  state.batch.count += 1
  state.rowCount += 1
  if (state.rowCount > state.limits.rows)
    state.unreadable = { why: `a list of more than ${state.limits.rows} rows`, isRetryable: false }
}

function tooLongText({ limits }: SplitterState): string {
  return `is longer than ${limits.perPart.bytes} bytes`
}

/** Drops an oversized row. Without the rest, no row can be used, so an oversized rest makes the response unreadable. */
export function rejectOversized(state: SplitterState, chunk: Buffer, i: number, why: string): void {
  if (state.currentRow !== null && state.listLevel > 0) dropRow(state, chunk, i, why)
  else state.unreadable = { why: `a response that ${why}`, isRetryable: false }
}

function dropRow(state: SplitterState, chunk: Buffer, i: number, why: string): void {
  const { currentRow: row, batch } = state
  if (row === null || state.keepFrom === -1) return
  if (row.firstSegment === -1) keepUpTo(state, chunk, row.start)
  const kept = row.firstSegment === -1 ? [] : batch.segments.splice(row.firstSegment)
  const head = firstBytes([...kept, chunk.subarray(Math.max(row.start, 0), i)])
  batch.dropped.set(batch.count, { head, why: `it ${why}` })
  batch.segments.push(Buffer.from('null'))
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

/** Keeps the bytes of the chunk before `to`. */
function keepUpTo(state: SplitterState, chunk: Buffer, to: number): void {
  if (state.keepFrom === -1 || to <= state.keepFrom) return
  const bytes = chunk.subarray(state.keepFrom, to)
  if (state.listLevel > 0) {
    state.batch.segments.push(bytes)
    state.batch.size += bytes.length
  } else {
    state.rest.push(bytes)
    state.restSize += bytes.length
    if (state.restSize > state.limits.perPart.bytes)
      state.unreadable = { why: `a response that ${tooLongText(state)}`, isRetryable: false }
  }
  state.keepFrom = to
}

function sealBatch(state: SplitterState): void {
  const { segments, dropped } = state.batch
  if (segments.length > 0)
    state.batches.push({ bytes: Buffer.concat([listStartBytes, ...segments, listEndBytes]), dropped })
  state.batch = emptyRowBatch()
}

/** The chunk ends; the row being read, or the rest, continues in the next chunk. */
export function finishChunk(state: SplitterState, chunk: Buffer): void {
  const row = state.currentRow
  if (row !== null) {
    row.size += chunk.length - Math.max(row.start, 0)
    if (row.firstSegment === -1 && state.keepFrom !== -1) {
      keepUpTo(state, chunk, row.start)
      row.firstSegment = state.batch.segments.length
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
