/** Validates every row of an import before any is queued, and compares them with each other and with the queue. */
import { isDeepStrictEqual } from 'node:util'
import type { ImportLookups, QueuedRef } from '../../core/outbox/import-lookups.ts'
import { createMistakeCounter, type MistakeKind } from '../../core/outbox/mistake-kinds.ts'
import type { LineMistake } from '../../core/outbox/reports.ts'
import { mistakeText, type RequestMistake, toMistake } from '../../core/outbox/request-mistake.ts'
import { expiryMistakes, type WritebackRequest } from '../../core/outbox/writeback-request.ts'
import type { EpochMs } from '../../core/time.ts'
import type { ImportLine } from './import-line.ts'
import { createRefIndex } from './ref-index.ts'
import { findEarlierReplies, repeatedRowMistake, toReplyKey } from './repeated-replies.ts'

export type CheckOptions = {
  readonly now: EpochMs
  readonly lookups: ImportLookups
  /** Whether the same words may go to the same conversation twice. */
  readonly allowDuplicates: boolean
  /** Called for each row with mistakes, in file order. */
  readonly onMistaken?: (line: ImportLine, mistakes: readonly RequestMistake[]) => Promise<void>
}

export type CheckResult = {
  /** The first row of a CSV file does not name the columns of an import, so no row was read. */
  readonly isHeaderMistaken: boolean
  /** Number of rows without a mistake. */
  readonly validRows: number
  /** Number of rows with a mistake, including those not listed in `mistakes`. */
  readonly mistakenRows: number
  /** The first mistakes, in file order. */
  readonly mistakes: readonly LineMistake[]
  readonly kinds: readonly MistakeKind[]
  /** Valid rows that a person should know about: repeated replies that are allowed, and refs of other write-backs. */
  readonly notices: readonly MistakeKind[]
  /** How many rows have a ref that was queued before for another write-back. */
  readonly differing: number
  /** The batch of those write-backs; null if there are several or none. */
  readonly differingBatch: string | null
  /** The columns that were let through. */
  readonly ignoredColumns: readonly string[]
}

/** No one reads more than this; kinds count all. */
const maxReportedMistakes = 100
const rowsPerLookup = 200

export async function checkLines(lines: AsyncIterable<ImportLine>, options: CheckOptions): Promise<CheckResult> {
  const judge = createRowJudge(options)
  const [kinds, notices] = [createMistakeCounter(), createMistakeCounter()]
  const mistakes: LineMistake[] = []
  const batches = new Set<string | null>()
  let [validRows, mistakenRows, differing] = [0, 0, 0]
  let ignoredColumns: readonly string[] = []
  let isHeaderMistaken = false
  for await (const chunk of inChunks(lines)) {
    for (const judged of await judge(chunk)) {
      const { line, ref, row, source } = judged.line
      if (source.format === 'csv') ignoredColumns = source.header.ignored
      if (source.format === 'csv header') isHeaderMistaken = true
      kinds.add(row, ref, judged.mistakes)
      notices.add(row, ref, judged.notices)
      if (judged.queuedAs !== null) {
        differing += 1
        if (batches.size < 2) batches.add(judged.queuedAs.batch)
      }
      if (judged.mistakes.length === 0) {
        validRows += 1
        continue
      }
      mistakenRows += 1
      if (mistakes.length < maxReportedMistakes)
        mistakes.push({ line, row, ref, why: judged.mistakes.map(mistakeText) })
      await options.onMistaken?.(judged.line, judged.mistakes)
    }
  }
  const [batch = null, ...others] = batches
  return {
    ...{ validRows, mistakenRows, mistakes, kinds: kinds.kinds(), notices: notices.kinds() },
    ...{ differing, differingBatch: others.length === 0 ? batch : null, ignoredColumns, isHeaderMistaken },
  }
}

type JudgedRow = {
  readonly line: ImportLine
  readonly mistakes: readonly RequestMistake[]
  readonly notices: readonly RequestMistake[]
  /** The other write-back that has its ref. */
  readonly queuedAs: QueuedRef | null
}

function createRowJudge({ now, lookups, allowDuplicates }: CheckOptions) {
  const [refs, replies] = [createRefIndex(), createRefIndex()]
  const ownMistakes = ({ row, result }: ImportLine): readonly RequestMistake[] => {
    if (!result.ok) return result.mistakes
    return [...repeatedRefMistake(row, result.request.ref, refs), ...expiryMistakes(result.request, now)]
  }
  return async (lines: readonly ImportLine[]): Promise<readonly JudgedRow[]> => {
    const requests = lines.flatMap(({ result }) => (result.ok ? [result.request] : []))
    const queuedRefs = await lookups.findQueuedRefs(requests.flatMap(({ ref }) => ref ?? []))
    const isQueued = ({ ref }: WritebackRequest) => ref !== null && queuedRefs.has(ref)
    const earlier = await findEarlierReplies(
      lookups,
      requests.filter((request) => !isQueued(request)),
      now,
    )
    return lines.map((line): JudgedRow => {
      const own = ownMistakes(line)
      const request = line.result.ok ? line.result.request : null
      const queuedRef = queuedRefs.get(request?.ref ?? '')
      // A row whose ref was queued before is skipped, so it sends nothing twice.
      if (request === null || queuedRef !== undefined) {
        const queuedAs = request === null || queuedRef === undefined || isSame(request, queuedRef) ? null : queuedRef
        return { line, mistakes: own, notices: queuedAs === null ? [] : [differsFromQueued], queuedAs }
      }
      const key = toReplyKey(request)
      const repeated = key === null ? [] : [...repeatedRowMistake(key, line.row, replies), ...(earlier.get(key) ?? [])]
      const mistakes = allowDuplicates ? own : [...own, ...repeated]
      return { line, mistakes, notices: allowDuplicates ? repeated : [], queuedAs: null }
    })
  }
}

const differsFromQueued = toMistake('ref', 'was queued before for another write-back, so this row is not queued')

/** Only one of the two rows would be queued, and it is unclear which one was meant. */
function repeatedRefMistake(row: number, ref: string | null, index: ReturnType<typeof createRefIndex>) {
  const first = ref === null ? row : index.firstLine(ref, row)
  return first === row ? [] : [toMistake('ref', 'an earlier row has the same ref', `${ref} in row ${first}`)]
}

function isSame({ operation, target, payload }: WritebackRequest, queued: QueuedRef): boolean {
  const isSameTarget = operation === queued.operation && target.toLowerCase() === queued.target.toLowerCase()
  return isSameTarget && isDeepStrictEqual({ ...payload }, { ...queued.payload })
}

async function* inChunks(lines: AsyncIterable<ImportLine>): AsyncGenerator<readonly ImportLine[]> {
  let chunk: ImportLine[] = []
  for await (const line of lines) {
    chunk.push(line)
    if (chunk.length < rowsPerLookup) continue
    yield chunk
    chunk = []
  }
  if (chunk.length > 0) yield chunk
}
