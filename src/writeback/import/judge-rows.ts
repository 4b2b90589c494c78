/** Finds the mistakes of rows that could be parsed: in the rows before them, in the queue, and in what was sent. */
import { isDeepStrictEqual } from 'node:util'
import type { ImportLookups, QueuedRef } from '../../core/outbox/import-lookups.ts'
import { type RequestMistake, toMistake } from '../../core/outbox/request-mistake.ts'
import { expiryMistakes, type WritebackRequest } from '../../core/outbox/writeback-request.ts'
import type { EpochMs } from '../../core/time.ts'
import type { ImportLine } from './import-line.ts'
import { createRefIndex, type RefIndex } from './ref-index.ts'
import { findEarlierReplies, repeatedRowMistake, toReplyKey } from './repeated-replies.ts'

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
