/**
 * Splits the bytes of a response into the rows of its list and the rest, before anything is parsed: a response of sixty
 * kilobytes may decompress to twenty million objects. It checks sizes, counts and nesting only; the parser that gets the
 * pieces finds out whether they are JSON.
 */
import {
  addRow,
  checkTotalSize,
  closeList,
  createSplitterState,
  defaultResponseLimits,
  finishChunk,
  openList,
  type ResponseLimits,
  rejectOversized,
  type SplitBody,
  type SplitterState,
  toSplitBody,
  type UnreadableReason,
} from './row-batches.ts'

type RowSplitter = {
  /** Null, or why nothing more needs to be written. */
  readonly write: (chunk: Buffer) => UnreadableReason | null
  readonly end: () => SplitBody
}

export function createRowSplitter(limits: ResponseLimits = defaultResponseLimits): RowSplitter {
  const state = createSplitterState(limits)
  return {
    write: (chunk) => {
      state.unreadable ??= checkTotalSize(state, chunk.length)
      if (state.unreadable === null) splitChunk(state, chunk)
      return state.unreadable
    },
    end: () => toSplitBody(state),
  }
}

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c]
const [listStart, listEnd, objectStart, objectEnd] = [0x5b, 0x5d, 0x7b, 0x7d]

/** The bytes that have a meaning outside of strings. */
const structural = new Uint8Array(256)
for (const byte of [quote, comma, listStart, listEnd, objectStart, objectEnd]) structural[byte] = 1

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
    // Nearly all commas are between the members of a row.
    if (byte === comma && state.level !== state.listLevel && state.values < maxValues) {
      state.values += 1
      i += 1
      continue
    }
    if (byte === comma) handleComma(state, chunk, i)
    else if (byte === listStart || byte === objectStart) handleOpening(state, chunk, i, byte)
    else handleClosing(state, chunk, i)
    i += 1
  }
  finishChunk(state, chunk)
}

/** Skips a string within a row: its text does not matter, and it nearly always ends within the chunk. */
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

/** Returns the index after the string, or the end of the chunk. */
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
  if (state.listLevel > 0 && state.level === state.listLevel) addRow(state, chunk, i)
}

function handleOpening(state: SplitterState, chunk: Buffer, i: number, byte: number): void {
  const isList = byte === listStart && state.listLevel === 0 && isRowList(state)
  if (state.level === 1 && state.listLevel === 0) state.inData = state.name === 'data' && byte === objectStart
  state.level += 1
  countValue(state, chunk, i)
  if (isList) openList(state, chunk, i)
  else if (state.level - state.listLevel > state.limits.perPart.levels)
    rejectOversized(state, chunk, i, `is nested more than ${state.limits.perPart.levels} levels deep`)
}

/** Whether the list that opens here is `data.items`, or `data` itself. */
function isRowList({ level, name, inData }: SplitterState): boolean {
  return (level === 1 && name === 'data') || (level === 2 && inData && name === 'items')
}

function handleClosing(state: SplitterState, chunk: Buffer, i: number): void {
  if (state.listLevel > 0 && state.level === state.listLevel) closeList(state, chunk, i)
  state.level -= 1
}

function countValue(state: SplitterState, chunk: Buffer, i: number): void {
  state.values += 1
  if (state.values > state.limits.perPart.values)
    rejectOversized(state, chunk, i, `has more than ${state.limits.perPart.values} values`)
}
