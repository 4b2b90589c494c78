/** Renders batches: the list, and one with its outcome, reasons, what is left, what is next. */

import { shownState } from '../../outbox/core/batches.ts'
import { formatCounts } from '../../outbox/core/state.ts'
import type {
  BatchesReport,
  BatchOutcome,
  BatchProgress,
  BatchReport,
  StatusCounts,
  WritebackStatus,
} from '../../outbox/outbox.ts'
import {
  formatAge,
  formatCount,
  formatDuration,
  pluralize,
  toPrintable,
} from '../../values/format.ts'
import { showInvisible } from '../../values/invisible.ts'
import type { EpochMs } from '../../values/time.ts'
import type { CommandHint } from '../../values/user-error.ts'
import {
  exportStep,
  renderEntries,
  renderMore,
  renderReasons,
  renderRestTime,
} from '../render/outbox.ts'
import { joinParts } from '../render/progress.ts'
import { alignColumns, linesOf } from '../render/table.ts'

/** `reviewLines`: what the rows that have not left would do; empty if all have. */
export function renderBatch(
  report: BatchReport,
  reviewLines: readonly string[],
  now: EpochMs,
  hint: CommandHint,
): readonly string[] {
  const { outcomes, reasons } = report
  const settled = outcomes.filter(({ status }) => status !== 'draft' && status !== 'queued')
  return linesOf(
    renderHead(report, now),
    settled.flatMap((outcome) => renderOutcome(outcome, now)),
    reasons.length > 0 && ['', 'Why:', ...renderReasons(reasons, hint, '  ')],
    reviewLines.length > 0 && ['', 'What has not left, as the mirror shows it:', ...reviewLines],
    renderRest(report, now),
    nextStepsOfBatch(report, hint).map(toPrintable),
  )
}

function renderHead({ batch, revertedBy }: BatchReport, now: EpochMs): string[] {
  const { id, title, source, note, reverts, createdAt, createdBy, rows, counts } = batch
  const dated = (what: string, at: string | null, by: string | null) =>
    at !== null && `${what} ${formatAge(at, now)}${by === null ? '' : ` by ${by}`}`
  const facts = linesOf(
    dated('queued', createdAt, createdBy),
    source !== null && `from ${source}`,
    dated('approved', batch.approvedAt, batch.approvedBy),
    dated('stopped', batch.stoppedAt, batch.stoppedBy),
    dated('done', batch.finishedAt, null),
    reverts !== null && `takes back ${reverts}`,
    revertedBy !== null && `taken back by ${revertedBy}`,
  )
  return linesOf(
    joinParts(id, title === null ? '' : JSON.stringify(title)),
    facts.join(', '),
    note !== null && `note: ${note}`,
    joinParts(pluralize(rows, 'row'), shownState(batch), stateBar(counts), formatCounts(counts)),
  ).map(showInvisible)
}

function renderOutcome(
  { operation, status, count, samples }: BatchOutcome,
  now: EpochMs,
): string[] {
  const title = `${status}: ${formatCount(count)} ${operation}`
  return ['', title, ...renderEntries(samples, now, '  '), ...renderMore(count, samples.length)]
}

/** How long an answer or a verification takes, nobody knows. */
const awaitingAnswers = 'sent, and not answered yet'

function renderRest({ batch: { state, counts }, estimate }: BatchReport, now: EpochMs): string[] {
  const { left, queuedEarlier, takesMs, restsUntil, restsBecause, worker, whyStopped } = estimate
  if (left === 0) return []
  const before = queuedEarlier === 0 ? '' : `, with ${formatCount(queuedEarlier)} queued before`
  const isUnattended = state === 'sending' && !worker
  const obstacle = whyStopped ?? (isUnattended ? 'no worker is running' : null)
  const rest = restsUntil === null ? [] : [renderRestTime(restsUntil, restsBecause, now)]
  if (left === (counts.sending ?? 0))
    return ['', `${formatCount(left)} left: ${awaitingAnswers}${before}`, ...rest]
  return [
    '',
    `${formatCount(left)} left, about ` +
      `${formatDuration(Math.max(1000, takesMs))}${before}${obstacle === null ? '' : `; ${obstacle}`}`,
    ...rest,
  ]
}

function nextStepsOfBatch(
  { batch: { id, state, counts }, approval, revertible }: BatchReport,
  hint: CommandHint,
): readonly string[] {
  const isStopped = state === 'stopped'
  const digest = approval?.digest.slice(0, 16)
  const toRevert =
    `to take back the ${pluralize(revertible, 'change')} that have arrived: ` +
    `${hint(`writeback revert --batch ${id}`)}`
  return linesOf(
    digest !== undefined &&
      `to approve exactly this: ${hint(`writeback approve --batch ${id} --digest ${digest}`)}`,
    isStopped && `to go on: ${hint(`writeback resume --batch ${id}`)}`,
    isStopped && revertible > 0 && `${toRevert}; what arrives later can be taken back then`,
    state === 'sending' && `to stop it: ${hint(`writeback stop --batch ${id}`)}`,
    exportStep(counts, hint, `--batch ${id} `),
  )
}

/** `320 of 500   310 succeeded, 10 failed   117 a minute   done in about 2 min   rests until …` */
export function renderBatchProgress(
  { rows, settled, counts, perMinute, doneAt, restsUntil, restsBecause }: BatchProgress,
  reasons: BatchReport['reasons'],
  now: EpochMs,
): string {
  const [worst] = reasons.filter(
    ({ status }) => status === 'failed' || status === 'conflict' || status === 'uncertain',
  )
  return joinParts(
    `${formatCount(settled)} of ${formatCount(rows)}`,
    formatCounts(counts),
    worst === undefined ? '' : `${showInvisible(worst.reason)} (${formatCount(worst.count)})`,
    perMinute === null ? '' : `${formatCount(Math.round(perMinute))} a minute`,
    doneAt === null ? '' : `done in about ${formatDuration(Math.max(1000, doneAt - now))}`,
    restsUntil === null ? '' : renderRestTime(restsUntil, restsBecause, now),
  )
}

const head = ['batch', 'queued', 'by', 'rows', 'state', '', 'of which', 'done', 'title']

export function renderBatches(
  { batches, more }: BatchesReport,
  now: EpochMs,
  hint: CommandHint,
): readonly string[] {
  const last = batches.at(-1)
  if (last === undefined) return ['no batches']
  return linesOf(
    alignColumns(withoutTitles([head, ...batches.map((batch) => toCells(batch, now))])),
    more && toPrintable(`older ones: ${hint(`writeback batches --before ${last.id}`)}`),
  )
}

/** Where no batch has one. */
function withoutTitles(rows: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const hasTitles = rows.slice(1).some((row) => row.at(-1) !== '')
  return hasTitles ? rows : rows.map((row) => row.slice(0, -1))
}

function toCells(batch: BatchesReport['batches'][number], now: EpochMs): string[] {
  const { id, title, createdAt, createdBy, rows, counts } = batch
  return [
    id,
    formatAge(createdAt, now),
    createdBy ?? '',
    formatCount(rows),
    shownState(batch),
    stateBar(counts),
    formatCounts(counts),
    doneWhen(batch, now),
    title === null ? '' : showInvisible(title),
  ]
}

function doneWhen(
  { state, finishedAt, counts, estimate }: BatchesReport['batches'][number],
  now: EpochMs,
): string {
  if (finishedAt !== null) return formatAge(finishedAt, now)
  if (state === 'stopped') return 'stopped'
  if (state === 'uncertain') return 'waits for a decision'
  const takes = formatDuration(Math.max(1000, estimate.takesMs))
  if (state === 'draft') return `takes about ${takes}`
  if (estimate.whyStopped !== null) return 'all sending is stopped'
  if (estimate.left === (counts.sending ?? 0)) return awaitingAnswers
  return estimate.worker ? `in about ${takes}` : 'no worker is running'
}

const barWidth = 10

/** From left to right: sent, not sent, in flight, waiting. */
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

/** Ten marks in the proportion of the statuses. A status that has rows has at least one. */
function stateBar(counts: StatusCounts): string {
  const rows = (Object.keys(barMarks) as WritebackStatus[]).map((status) => ({
    status,
    count: counts[status] ?? 0,
  }))
  const total = rows.reduce((sum, { count }) => sum + count, 0)
  if (total === 0) return ''
  const parts = rows
    .filter(({ count }) => count > 0)
    .map(({ status, count }) => ({
      status,
      width: Math.max(1, Math.round((count * barWidth) / total)),
    }))
  for (
    let spare = barWidth - parts.reduce((sum, { width }) => sum + width, 0);
    spare !== 0;
    spare -= Math.sign(spare)
  ) {
    const largest = parts.reduce((a, b) => (b.width > a.width ? b : a))
    largest.width += Math.sign(spare)
  }
  return `[${parts.map(({ status, width }) => barMarks[status].repeat(width)).join('')}]`
}
