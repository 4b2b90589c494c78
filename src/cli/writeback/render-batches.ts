/** Renders the list of batches. */
import { formatAge, formatCount, formatDuration, toPrintable } from '../../core/format.ts'
import type { BatchesReport } from '../../core/outbox/batches.ts'
import { showInvisible } from '../../core/outbox/review-words.ts'
import type { StatusCounts, WritebackStatus } from '../../core/outbox/state.ts'
import type { EpochMs } from '../../core/time.ts'
import type { CommandHint } from '../../core/user-error.ts'
import { formatCounts } from '../render/outbox.ts'
import { alignColumns } from '../render/table.ts'

type Listed = BatchesReport['batches'][number]

const head = ['batch', 'queued', 'by', 'rows', 'state', '', 'of which', 'done', 'title']

export function renderBatches({ batches, more }: BatchesReport, now: EpochMs, hint: CommandHint): string[] {
  const last = batches.at(-1)
  if (last === undefined) return ['no batches']
  return [
    ...alignColumns(withoutTitles([head, ...batches.map((batch) => toCells(batch, now))])),
    ...(more ? [toPrintable(`older ones: ${hint(`writeback batches --before ${last.id}`)}`)] : []),
  ]
}

/** Where no batch has one. */
function withoutTitles(rows: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const hasTitles = rows.slice(1).some((row) => row.at(-1) !== '')
  return hasTitles ? rows : rows.map((row) => row.slice(0, -1))
}

function toCells(batch: Listed, now: EpochMs): string[] {
  const { id, title, createdAt, createdBy, rows, state, counts } = batch
  return [
    id,
    formatAge(createdAt, now),
    createdBy ?? '',
    formatCount(rows),
    state,
    stateBar(counts),
    formatCounts(counts),
    doneWhen(batch, now),
    title === null ? '' : showInvisible(title),
  ]
}

function doneWhen({ state, finishedAt, estimate }: Listed, now: EpochMs): string {
  if (finishedAt !== null) return formatAge(finishedAt, now)
  if (state === 'stopped') return 'stopped'
  if (state === 'uncertain') return 'waits for a decision'
  const takes = formatDuration(Math.max(1000, estimate.takesMs))
  return state === 'draft' ? `takes about ${takes}` : `in about ${takes}`
}

const barWidth = 10

/** Sent, not sent, in flight, waiting. */
const barMarks: Readonly<Record<WritebackStatus, string>> = {
  succeeded: '█',
  cancelled: '×',
  expired: '×',
  conflict: '×',
  failed: '×',
  uncertain: '?',
  sending: '▒',
  queued: '·',
  draft: ' ',
}

const barOrder: readonly WritebackStatus[] = [
  'succeeded',
  'cancelled',
  'expired',
  'conflict',
  'failed',
  'uncertain',
  'sending',
  'queued',
  'draft',
]

/** Ten marks in the proportion of the statuses. A status that has rows has at least one. */
export function stateBar(counts: StatusCounts): string {
  const present = barOrder.filter((status) => (counts[status] ?? 0) > 0)
  const total = present.reduce((sum, status) => sum + (counts[status] ?? 0), 0)
  const widths = new Map(
    present.map((status) => [status, Math.max(1, Math.round(((counts[status] ?? 0) * barWidth) / total))]),
  )
  for (let spare = barWidth - [...widths.values()].reduce((a, b) => a + b, 0); spare !== 0; spare -= Math.sign(spare)) {
    const largest = present.reduce((a, b) => ((widths.get(b) ?? 0) > (widths.get(a) ?? 0) ? b : a))
    widths.set(largest, (widths.get(largest) ?? 0) + Math.sign(spare))
  }
  return present.length === 0
    ? ''
    : `[${present.map((status) => barMarks[status].repeat(widths.get(status) ?? 0)).join('')}]`
}
