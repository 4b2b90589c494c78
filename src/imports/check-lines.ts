/**
 * Checks every row of an import before any is queued: beside its own mistakes those that other rows
 * show, the queue, and what was sent or queued with the same words in the last 30 days. Counts what
 * is wrong.
 */

import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { describeTextChanges } from '../outbox/core/review/marks.ts'
import {
  expiryMistakes,
  mistakeText,
  type RequestMistake,
  toMistake,
  type WritebackRequest,
} from '../outbox/core/writeback-request.ts'
import type { Outbox, Writeback } from '../outbox/outbox.ts'
import { inChunks } from '../values/chunks.ts'
import { type EpochMs, toTimestamp } from '../values/time.ts'
import { templateColumn } from './csv-header-words.ts'

import { createMistakeCounter } from './mistake-kinds.ts'
import type { ImportLine } from './parse-lines.ts'
import { isDownloaded } from './reply-sheet.ts'

export type ImportLookups = Pick<Outbox, 'findImport' | 'findQueuedRefs' | 'listReplies'>

export type CheckOptions = {
  readonly now: EpochMs
  readonly lookups: ImportLookups
  /** Whether the same words may go to the same conversation twice. */
  readonly allowDuplicates: boolean
  /** Called for each row with mistakes, in file order. */
  readonly onMistaken?: (line: ImportLine, mistakes: readonly RequestMistake[]) => Promise<void>
}

export type LineMistake = {
  /** The first line of the row, as an editor counts. */
  readonly line: number
  /** As a spreadsheet counts. */
  readonly row: number
  readonly ref: string | null
  /** One reason per mistake, each starting with the field name. */
  readonly why: readonly string[]
}

/** No one reads more than this; kinds count all. */
const maxReportedMistakes = 100
const rowsPerLookup = 200
/**
 * A longer row counts as several, so that those that are hardly shorter than the longest line come
 * one by one.
 */
const charactersPerRow = 5_000
const lookBackMs = 30 * 24 * 60 * 60 * 1000

export async function checkLines(
  lines: AsyncIterable<ImportLine>,
  { onMistaken, ...options }: CheckOptions,
) {
  const judge = createRowJudge(options)
  const kinds = createMistakeCounter()
  const notices = createMistakeCounter()
  const mistakes: LineMistake[] = []
  const batches = new Set<string | null>()
  let validRows = 0
  let mistakenRows = 0
  let differing = 0
  let rows = 0
  let toBeSeen = 0
  let lastRow = 0
  const order = createOrderCheck()
  let ignoredColumns: readonly string[] = []
  let isHeaderMistaken = false
  for await (const chunk of inChunks(lines, rowsPerLookup, weightOf)) {
    for (const { importLine, queuedAs, ...judged } of await judge(chunk)) {
      const { line, row, ref, source, foundBy } = importLine
      const changed = toTextNotices(importLine)
      const byVisitor = foundBy === undefined ? [] : [{ ...foundByVisitor, found: foundBy }]
      // A row of a sheet may be two write-backs.
      if (row !== lastRow) rows += 1
      lastRow = row
      if (source.format === 'csv') ignoredColumns = source.header.ignored
      if (source.format === 'csv header') isHeaderMistaken = true
      kinds.add(row, ref, judged.mistakes)
      notices.add(row, ref, [...judged.notices, ...byVisitor, ...changed])
      toBeSeen += byVisitor.length + changed.length
      // Texts that are used again are in the order of the names that they are filled with.
      if (source.format === 'csv' && isDownloaded(ref) && !hasTemplate(source))
        order.add(importLine.result)
      if (queuedAs !== null) {
        differing += 1
        batches.add(queuedAs.batchId)
      }
      if (judged.mistakes.length === 0) {
        validRows += 1
        continue
      }
      mistakenRows += 1
      if (mistakes.length < maxReportedMistakes)
        mistakes.push({ line, row, ref, why: judged.mistakes.map(mistakeText) })
      await onMistaken?.(importLine, judged.mistakes)
    }
  }
  if (order.isSorted()) {
    toBeSeen += 1
    notices.add(lastRow, null, [sortedReplies])
  }
  const [batch = null] = batches
  return {
    /** The first row of a CSV file does not name the columns of an import, so no row was read. */
    isHeaderMistaken,
    /** As a spreadsheet counts them. */
    rows,
    /** Write-backs. */
    validRows,
    mistakenRows,
    /**
     * Write-backs whose conversation was found by the visitor's address or name, and whether all
     * may be of other ones.
     */
    toBeSeen,
    /** The first ones, in file order; `kinds` counts all. */
    mistakes: mistakes as readonly LineMistake[],
    kinds: kinds.kinds(),
    /**
     * Valid rows that a person should know about: repeated replies that are allowed, and refs of
     * other write-backs.
     */
    notices: notices.kinds(),
    /**
     * How many rows have a ref that was queued before for another write-back; the batch of those if
     * it is one.
     */
    differing,
    differingBatch: batches.size === 1 ? batch : null,
    /** The columns that were let through. */
    ignoredColumns,
  }
}

function hasTemplate({ header, cells }: Extract<ImportLine['source'], { format: 'csv' }>): boolean {
  return (cells[header.fields.indexOf(templateColumn)] ?? '') !== ''
}

function weightOf({ source }: ImportLine): number {
  const size =
    source.format === 'jsonl'
      ? source.text.length
      : source.cells.reduce((sum, { length }) => sum + length, 0)
  return 1 + size / charactersPerRow
}

/** A person decides whether a text that another program has probably changed is sent as it is. */
function toTextNotices({ result }: ImportLine): readonly RequestMistake[] {
  if (!result.ok) return []
  const found = describeTextChanges(result.request)
  return found.map((text) => toMistake(null, changedByProgram, text))
}

const changedByProgram =
  'another program has probably changed the text, so the batch waits for approval'
const foundByVisitor = toMistake(
  null,
  "found by the visitor's address or name, so the batch waits for approval",
)
const sortedReplies = toMistake(
  'content',
  'all replies are in alphabetical order: if only this column was sorted, they go to other ' +
    'conversations. So the batch waits for approval',
)
const differsFromQueued = toMistake(
  'ref',
  'was queued before for another write-back, so this row is not queued',
)
const repeatsRow = 'an earlier row sends the same words to the same conversation'
const wasSent = 'the same words were sent to the same conversation in the last 30 days'
const isQueued = 'the same words are queued for the same conversation'

/** That so many replies are in order by chance happens in one of 360 sheets. */
const minSteps = 5
const alphabet = new Intl.Collator()

/**
 * Whether the replies are in alphabetical order. In a sheet whose column of replies was sorted
 * alone all other columns stay as they were downloaded, so that nothing else shows it.
 */
function createOrderCheck() {
  let last: string | null = null
  let up = 0
  let down = 0
  return {
    add: (result: ImportLine['result']) => {
      if (!result.ok || result.request.operation !== 'message') return
      const content = String(result.request.payload['content'])
      const step = last === null ? 0 : alphabet.compare(last, content)
      if (step < 0) up += 1
      if (step > 0) down += 1
      last = content
    },
    isSorted: () => (up === 0 && down >= minSteps) || (down === 0 && up >= minSteps),
  }
}

/** Judges the rows of a file, some at a time, in their order. */
function createRowJudge({ lookups, now, allowDuplicates }: Omit<CheckOptions, 'onMistaken'>) {
  const rowOfRef = createRowIndex()
  const rowOfReply = createRowIndex()
  const judgeRequest = (
    request: WritebackRequest,
    row: number,
    queued: Writeback | undefined,
    earlier: Awaited<ReturnType<typeof findEarlierReplies>>,
  ) => {
    const { ref, operation, target, payload } = request
    const first = ref === null ? row : rowOfRef(ref, row)
    const mistakes = [
      // Only one of the two rows would be queued, and it is unclear which one was meant.
      ...(first === row
        ? []
        : [toMistake('ref', 'an earlier row has the same ref', `${ref} in row ${first}`)]),
      ...expiryMistakes(request, now),
    ]
    // A row whose ref was queued before is skipped, so it sends nothing twice.
    if (queued !== undefined)
      return isSame(request, queued)
        ? { mistakes }
        : { mistakes, notices: [differsFromQueued], queuedAs: queued }
    if (operation !== 'message') return { mistakes }
    const key = toReplyKey(target, payload.content)
    const firstReply = rowOfReply(key, row)
    const repeated = [
      ...(firstReply === row ? [] : [toRepetition(repeatsRow, `row ${firstReply}`)]),
      ...(earlier.get(key) ?? []),
    ]
    return allowDuplicates
      ? { mistakes, notices: repeated }
      : { mistakes: [...mistakes, ...repeated] }
  }
  return async (lines: readonly ImportLine[]) => {
    const requests = lines.flatMap(({ result }) => (result.ok ? [result.request] : []))
    const queuedRefs = await lookups.findQueuedRefs(requests.flatMap(({ ref }) => ref ?? []))
    const unknown = requests.filter(({ ref }) => ref === null || !queuedRefs.has(ref))
    const earlier = await findEarlierReplies(lookups, unknown, now)
    return lines.map((importLine) => {
      const { result, row } = importLine
      const found = result.ok
        ? judgeRequest(result.request, row, queuedRefs.get(result.request.ref ?? ''), earlier)
        : { mistakes: result.mistakes }
      return { importLine, notices: [], queuedAs: null, ...found }
    })
  }
}

/** By reply key, the mistake of a row that sends these words again. */
async function findEarlierReplies(
  lookups: ImportLookups,
  requests: readonly WritebackRequest[],
  now: EpochMs,
): Promise<ReadonlyMap<string, readonly RequestMistake[]>> {
  const replies = requests.filter(({ operation }) => operation === 'message')
  const conversations = [...new Set(replies.map(({ target }) => target.toLowerCase()))]
  const earlier = await lookups.listReplies(conversations, toTimestamp(now - lookBackMs))
  return new Map(
    earlier.map(({ conversation, content, sentAt }) => {
      const mistake =
        sentAt === null ? toRepetition(isQueued, null) : toRepetition(wasSent, sentAt.slice(0, 10))
      return [toReplyKey(conversation, content), [mistake]]
    }),
  )
}

function toRepetition(why: string, found: string | null): RequestMistake {
  return toMistake('content', why, found, 'allow-duplicates')
}

function toReplyKey(conversation: string, content: string): string {
  return `${conversation.toLowerCase()} ${toWords(content)}`
}

function isSame({ operation, target, payload }: WritebackRequest, queued: Writeback): boolean {
  const isSameTarget =
    operation === queued.operation && target.toLowerCase() === queued.target.toLowerCase()
  return isSameTarget && isDeepStrictEqual(payload, queued.request.request?.payload)
}

/**
 * Returns the first row with the key: an earlier one, or `row` itself. Keys may be long, so 96 bits
 * of their hash are kept.
 */
function createRowIndex(): (key: string, row: number) => number {
  const rows = new Map<string, number>()
  return (key, row) => {
    const short = hash('sha256', key, 'binary').slice(0, 12)
    const first = rows.get(short) ?? row
    rows.set(short, first)
    return first
  }
}

/**
 * Spaces, line ends, letter case and the marks that programs replace (quotes, dashes, ellipses)
 * make no difference. Texts with the same result have the same words.
 */
export function toWords(text: string): string {
  return text
    .normalize('NFKC')
    .replace(/[‘’‚‛′´`]/g, "'")
    .replace(/[“”„‟«»″]/g, '"')
    .replace(/[‐-―−]/g, '-')
    .replace(/\p{Cf}/gu, '')
    .replace(/\s+/g, ' ')
    .trim()
    .toLowerCase()
}
