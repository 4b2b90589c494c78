/**
 * Finds the mistakes of rows that could be parsed: in the rows before them, in the queue, and in what was sent or queued
 * with the same words in the last 30 days.
 */
import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { type EpochMs, toTimestamp } from '../../values/time.ts'
import { type RequestMistake, toMistake } from '../core/request-mistake.ts'
import { toWords } from '../core/same-words.ts'
import { expiryMistakes, type WritebackRequest } from '../core/writeback-request.ts'
import type { EarlierReply, QueuedRef } from '../sql/import-lookups.ts'
import type { ImportLookups } from '../sql/outbox.ts'
import type { ImportLine } from './csv-parser.ts'

export type JudgeOptions = {
  readonly now: EpochMs
  readonly lookups: ImportLookups
  /** Whether the same words may go to the same conversation twice. */
  readonly allowDuplicates: boolean
}

export type JudgedRow = {
  readonly line: ImportLine
  readonly mistakes: readonly RequestMistake[]
  /** What a person should know about a row without mistakes. */
  readonly notices: readonly RequestMistake[]
  /** The other write-back that its ref was queued for. */
  readonly queuedAs: QueuedRef | null
}

/** What was queued before with the row's ref, and which mistake each repeated reply is. */
type KnownFacts = {
  readonly queuedRefs: ReadonlyMap<string, QueuedRef>
  readonly earlierReplies: ReadonlyMap<string, readonly RequestMistake[]>
}

/** Judges the rows of a file, some at a time, in their order. */
export function createRowJudge(options: JudgeOptions): (lines: readonly ImportLine[]) => Promise<readonly JudgedRow[]> {
  const indexes = { refs: createRefIndex(), replies: createRefIndex() }
  return async (lines) => {
    const known = await readKnownFacts(options, lines)
    return lines.map((line) => judgeRow(line, known, indexes, options))
  }
}

async function readKnownFacts({ lookups, now }: JudgeOptions, lines: readonly ImportLine[]): Promise<KnownFacts> {
  const requests = lines.flatMap(({ result }) => (result.ok ? [result.request] : []))
  const queuedRefs = await lookups.findQueuedRefs(requests.flatMap(({ ref }) => ref ?? []))
  const unknown = requests.filter(({ ref }) => ref === null || !queuedRefs.has(ref))
  return { queuedRefs, earlierReplies: await findEarlierReplies(lookups, unknown, now) }
}

type RowIndexes = { readonly refs: RefIndex; readonly replies: RefIndex }

function judgeRow(
  line: ImportLine,
  { queuedRefs, earlierReplies }: KnownFacts,
  { refs, replies }: RowIndexes,
  { now, allowDuplicates }: JudgeOptions,
): JudgedRow {
  const { result, row } = line
  const judged = { line, notices: [], queuedAs: null }
  if (!result.ok) return { ...judged, mistakes: result.mistakes }
  const { request } = result
  const mistakes = [...repeatedRefMistake(row, request.ref, refs), ...expiryMistakes(request, now)]
  // A row whose ref was queued before is skipped, so it sends nothing twice.
  const queued = request.ref === null ? undefined : queuedRefs.get(request.ref)
  if (queued !== undefined)
    return isSame(request, queued)
      ? { ...judged, mistakes }
      : { ...judged, mistakes, notices: [differsFromQueued], queuedAs: queued }
  const key = toReplyKey(request)
  const repeated = key === null ? [] : [...repeatedRowMistake(key, row, replies), ...(earlierReplies.get(key) ?? [])]
  return allowDuplicates
    ? { ...judged, mistakes, notices: repeated }
    : { ...judged, mistakes: [...mistakes, ...repeated] }
}

const differsFromQueued = toMistake('ref', 'was queued before for another write-back, so this row is not queued')

/** Only one of the two rows would be queued, and it is unclear which one was meant. */
function repeatedRefMistake(row: number, ref: string | null, index: RefIndex): readonly RequestMistake[] {
  const first = ref === null ? row : index.firstLine(ref, row)
  return first === row ? [] : [toMistake('ref', 'an earlier row has the same ref', `${ref} in row ${first}`)]
}

function isSame({ operation, target, payload }: WritebackRequest, queued: QueuedRef): boolean {
  const isSameTarget = operation === queued.operation && target.toLowerCase() === queued.target.toLowerCase()
  return isSameTarget && isDeepStrictEqual({ ...payload }, { ...queued.payload })
}

const lookBackMs = 30 * 24 * 60 * 60 * 1000

/** The conversation and the words of a reply; null for other operations. */
function toReplyKey({ operation, target, payload }: WritebackRequest): string | null {
  return operation === 'message' ? joinKey(target, payload.content) : null
}

function joinKey(conversation: string, content: string): string {
  return `${conversation.toLowerCase()} ${toWords(content)}`
}

/** `index`: the replies of the rows before it. */
function repeatedRowMistake(key: string, row: number, index: RefIndex): readonly RequestMistake[] {
  const first = index.firstLine(key, row)
  return first === row ? [] : [toRepetition(repeatsRow, `row ${first}`)]
}

const repeatsRow = 'an earlier row sends the same words to the same conversation'
const wasSent = 'the same words were sent to the same conversation in the last 30 days'
const isQueued = 'the same words are queued for the same conversation'

/** By reply key, the mistake of a row that sends these words again. */
async function findEarlierReplies(
  lookups: ImportLookups,
  requests: readonly WritebackRequest[],
  now: EpochMs,
): Promise<ReadonlyMap<string, readonly RequestMistake[]>> {
  const replies = requests.filter(({ operation }) => operation === 'message')
  const conversations = [...new Set(replies.map(({ target }) => target.toLowerCase()))]
  const earlier = await lookups.listReplies(conversations, toTimestamp(now - lookBackMs))
  return new Map(earlier.map((reply) => [joinKey(reply.conversation, reply.content), [toReplyMistake(reply)]]))
}

function toReplyMistake({ sentAt }: EarlierReply): RequestMistake {
  return sentAt === null ? toRepetition(isQueued, null) : toRepetition(wasSent, sentAt.slice(0, 10))
}

function toRepetition(why: string, found: string | null): RequestMistake {
  return toMistake('content', why, found, 'allow-duplicates')
}

/**
 * Finds the first line with a given key. Millions of them would fill the heap, so the index holds 96-bit hashes and line
 * numbers: 20 to 40 bytes each, off the heap. Collision probability for ten million: below 10^-14.
 */
type RefIndex = {
  /** The first line with this ref: an earlier one, or `line` itself (from 1). */
  readonly firstLine: (ref: string, line: number) => number
}

/** 32-bit words per entry: the line and three words of the hash. Line 0 marks a free slot. */
const wordsPerEntry = 4

/** A fuller table makes lookups slow. */
const maxLoadFactor = 0.75

/** Open addressing with linear probing. */
export function createRefIndex(slots = 1024): RefIndex {
  let table = new Uint32Array(slots * wordsPerEntry)
  let usedSlots = 0
  return {
    firstLine(ref, line) {
      if (usedSlots >= (table.length / wordsPerEntry) * maxLoadFactor) table = grow(table)
      const entry = toEntry(ref, line)
      const slot = findSlot(table, entry)
      if (table[slot] !== 0) return table[slot] ?? line
      table.set(entry, slot)
      usedSlots += 1
      return line
    },
  }
}

function toEntry(ref: string, line: number): Uint32Array {
  const bytes = hash('sha256', ref, 'buffer')
  return Uint32Array.of(line, bytes.readUInt32LE(0), bytes.readUInt32LE(4), bytes.readUInt32LE(8))
}

/** The slot of the entry, or the free slot where it belongs. */
function findSlot(table: Uint32Array, entry: Uint32Array): number {
  let slot = ((entry[1] ?? 0) * wordsPerEntry) % table.length
  while (table[slot] !== 0 && !hasSameHash(table, slot, entry)) slot = (slot + wordsPerEntry) % table.length
  return slot
}

function hasSameHash(table: Uint32Array, slot: number, entry: Uint32Array): boolean {
  return table[slot + 1] === entry[1] && table[slot + 2] === entry[2] && table[slot + 3] === entry[3]
}

function grow(table: Uint32Array): Uint32Array<ArrayBuffer> {
  const grown = new Uint32Array(table.length * 2)
  for (let slot = 0; slot < table.length; slot += wordsPerEntry) {
    const entry = table.subarray(slot, slot + wordsPerEntry)
    if (entry[0] !== 0) grown.set(entry, findSlot(grown, entry))
  }
  return grown
}
