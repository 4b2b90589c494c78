/**
 * Splits the bytes of a response into the rows of its list and the rest, before anything is parsed:
 * sixty kilobytes may decompress to twenty million objects. It checks sizes, counts and nesting;
 * the parser finds out whether the pieces are JSON.
 */

const mebibyte = 1 << 20

/**
 * SQLite's JSON functions read 1,000 levels ("JSON Functions And Operators"). The other limits make
 * any response, with all that is built from it, fit into 300 MB of memory.
 */
export const defaultResponseLimits = {
  /** Bytes of a response, without those of dropped rows. */
  bytes: 40 * mebibyte,
  /** Bytes of all dropped rows. */
  droppedBytes: 512 * mebibyte,
  rows: 150_000,
  /** Of one row, and of all that is not a row of the list. */
  perPart: { bytes: 4 * mebibyte, levels: 1000, values: 100_000 },
}

/** Parsed together: a JSON array, `null` for each dropped row. `rowEnds`: the index after each. */
export type RowBatch = {
  readonly bytes: Buffer
  readonly rowEnds: readonly number[]
  readonly dropped: ReadonlyMap<number, DroppedRow>
}

/** A row that is too large to be parsed, or cannot be: its first bytes, and why. */
export type DroppedRow = { readonly head: Buffer; readonly why: string }

/** A response without the rows of its list. `batches` null: it has no list. */
export type SplitBody = { readonly rest: Buffer; readonly batches: readonly RowBatch[] | null }

/** `isRetryable`: another response may be readable. `isTooLarge`: with fewer rows it may be. */
export type UnreadableReason = {
  readonly why: string
  readonly isRetryable: boolean
  readonly isTooLarge?: true
}

export function tooLarge(maxBytes: number): UnreadableReason {
  return { why: `a body of more than ${maxBytes} bytes`, isRetryable: true, isTooLarge: true }
}

/** A batch is parsed at once: about this many bytes and rows at most, or a single row. */
const batchBytes = 2 * mebibyte
const batchRows = 1000
export const droppedHeadBytes = 4096

/** `droppedWhy`: it is too large, so only its first bytes are kept. */
type Part = { segments: Buffer[]; size: number; values: number; droppedWhy: string | null }

const emptyPart = (): Part => ({ segments: [], size: 0, values: 0, droppedWhy: null })
const emptyBatch = () => {
  const segments = [] as Buffer[]
  const rowEnds = [] as number[]
  const dropped = new Map<number, DroppedRow>()
  return { segments, rowEnds, dropped, size: 0, count: 0 }
}

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const listStart = 0x5b
const listEnd = 0x5d
const objectStart = 0x7b
const objectEnd = 0x7d
const pieces = {
  start: Buffer.from('['),
  comma: Buffer.from(','),
  end: Buffer.from(']'),
  dropped: Buffer.from('null'),
}

export function createRowSplitter(limits = defaultResponseLimits) {
  const { bytes: maxPartBytes, levels: maxLevels, values: maxValues } = limits.perPart
  const rest = emptyPart()
  let row: Part | null = null
  let batch = emptyBatch()
  let batches: RowBatch[] | null = null
  let unreadable: UnreadableReason | null = null
  let totalBytes = 0
  let droppedBytes = 0
  let rowCount = 0
  /** `listLevel`: the level of the rows while within the list, else 0. */
  let level = 0
  let listLevel = 0
  let stringState: 'none' | 'inside' | 'escaped' = 'none'
  /** The last string outside of rows: the value that follows may be the list of this name. */
  let name = ''
  let inData = false
  let chunk: Buffer = Buffer.alloc(0)
  /** The bytes of the chunk before this index belong to finished parts, or are kept. */
  let start = 0

  /** Keeps the bytes of the chunk before `end` for the part in hand. */
  const keepUpTo = (end: number) => {
    const part = row ?? rest
    const bytes = chunk.subarray(start, end)
    start = end
    part.size += bytes.length
    if (part.droppedWhy !== null) droppedBytes += bytes.length
    else part.segments.push(bytes)
    if (part.size > maxPartBytes) rejectPart(`is longer than ${maxPartBytes} bytes`)
  }

  /** An oversized row is dropped; an oversized rest makes the response unreadable. */
  const rejectPart = (why: string) => {
    if (row === null) unreadable ??= { why: `a response that ${why}`, isRetryable: false }
    if (row === null || row.droppedWhy !== null) return
    row.droppedWhy = why
    droppedBytes += row.size
    row.segments = [Buffer.concat(row.segments, Math.min(row.size, droppedHeadBytes))]
  }

  const countValue = (at: number) => {
    const part = row ?? rest
    part.values += 1
    if (part.values <= maxValues || part.droppedWhy !== null) return
    keepUpTo(at)
    rejectPart(`has more than ${maxValues} values`)
  }

  const endRow = () => {
    if (row === null) return
    const { segments, size, droppedWhy } = row
    if (droppedWhy !== null)
      batch.dropped.set(batch.count, {
        head: segments[0] ?? Buffer.alloc(0),
        why: `it ${droppedWhy}`,
      })
    if (batch.count > 0) batch.segments.push(pieces.comma)
    batch.segments.push(...(droppedWhy === null ? segments : [pieces.dropped]))
    batch.size += droppedWhy === null ? size : 0
    const before = batch.rowEnds.at(-1) ?? 0
    batch.rowEnds.push(
      before + pieces.comma.length + (droppedWhy === null ? size : pieces.dropped.length),
    )
    batch.count += 1
    rowCount += 1
    row = emptyPart()
    if (rowCount > limits.rows)
      unreadable = { why: `a list of more than ${limits.rows} rows`, isRetryable: false }
    if (batch.count >= batchRows || batch.size >= batchBytes) sealBatch()
  }

  const sealBatch = () => {
    const { segments, count, rowEnds, dropped } = batch
    batch = emptyBatch()
    if (count > 0)
      batches?.push({
        bytes: Buffer.concat([pieces.start, ...segments, pieces.end]),
        rowEnds,
        dropped,
      })
  }

  const handleOpening = (byte: number, at: number) => {
    // The list is `data.items`, or `data` itself.
    const isNamed = (level === 1 && name === 'data') || (level === 2 && inData && name === 'items')
    const isList = byte === listStart && listLevel === 0 && isNamed
    if (level === 1 && listLevel === 0) inData = name === 'data' && byte === objectStart
    level += 1
    countValue(at)
    if (isList) {
      keepUpTo(at + 1)
      // If a name occurs twice, JSON.parse takes the last list, and so does this.
      ;[listLevel, row, batch, batches, rowCount] = [level, emptyPart(), emptyBatch(), [], 0]
    } else if (level - listLevel > maxLevels) {
      keepUpTo(at)
      rejectPart(`is nested more than ${maxLevels} levels deep`)
    }
  }

  const handleClosing = (at: number) => {
    if (listLevel > 0 && level === listLevel) {
      keepUpTo(at)
      endRow()
      sealBatch()
      ;[listLevel, row] = [0, null]
    }
    level -= 1
  }

  const handleComma = (at: number) => {
    countValue(at)
    if (listLevel === 0 || level !== listLevel) return
    keepUpTo(at)
    endRow()
    start = at + 1
  }

  const handleInString = (byte: number) => {
    if (stringState === 'escaped') stringState = 'inside'
    else if (byte === backslash) stringState = 'escaped'
    else if (byte === quote) stringState = 'none'
    if (stringState !== 'none' && row === null && name.length < 8) name += String.fromCharCode(byte)
  }

  const write = (added: Buffer): UnreadableReason | null => {
    totalBytes += added.length
    if (droppedBytes > limits.droppedBytes) unreadable ??= tooLarge(limits.droppedBytes)
    if (totalBytes - droppedBytes > limits.bytes) unreadable ??= tooLarge(limits.bytes)
    ;[chunk, start] = [added, 0]
    for (let at = 0; at < added.length && unreadable === null; at++) {
      if (stringState === 'inside' && row !== null) at = skipText(added, at)
      const byte = added[at]
      if (byte === undefined) break
      if (stringState !== 'none') handleInString(byte)
      else if (byte === quote) [stringState, name] = ['inside', '']
      else if (byte === comma) handleComma(at)
      else if (byte === listStart || byte === objectStart) handleOpening(byte, at)
      else if (byte === listEnd || byte === objectEnd) handleClosing(at)
    }
    keepUpTo(chunk.length)
    return unreadable
  }

  return {
    /** Null, or why nothing more needs to be written. */
    write,
    end: (): SplitBody => {
      endRow()
      sealBatch()
      return { rest: Buffer.concat(rest.segments), batches }
    },
  }
}

/** Where a string may end, or the chunk does: nearly all bytes are texts in rows. */
function skipText(chunk: Buffer, from: number): number {
  let at = from
  while (at < chunk.length && chunk[at] !== quote && chunk[at] !== backslash) at++
  return at
}
