/** Renders the result of `import`: what was queued, or which rows have mistakes. */
import type { ProjectConfig } from '../../config/config.ts'
import { formatCount, formatDuration, toPrintable } from '../../core/format.ts'
import type { ImportReport, PreviewReport, QueuedImport, SendEstimate } from '../../core/outbox/reports.ts'
import type { ReviewSummary } from '../../core/outbox/review-summary.ts'
import type { CommandHint } from '../../core/user-error.ts'
import type { CommandResult } from '../command-result.ts'
import { renderKind, renderMistakes } from './render-mistakes.ts'

export function renderImport(report: ImportReport, project: ProjectConfig, hint: CommandHint): CommandResult {
  if (report.outcome === 'mistaken') return renderMistakes(report)
  if (report.outcome === 'imported before') return renderImportedBefore(report, hint)
  const { batch, queued, known, outcome } = report
  const notices = renderNotices(report, hint)
  const exit = report.differing > 0 ? 3 : 0
  if (batch === null) {
    const lines = [`queued nothing${known === 0 ? ': the file has no rows' : ''}`, ...notices]
    return { document: report, lines, exit }
  }
  const approve = `${queued === 1 ? 'it waits' : 'they wait'} for approval: ${hint(`writeback approve --batch ${batch}`)}`
  const [durationLine = '', next = ''] = renderEstimate(report, project, hint)
  const summary = `queued ${formatCount(queued)} as ${batch}`
  const lines = [summary, ...notices, durationLine, outcome === 'draft' ? approve : next]
  return { document: report, lines, exit }
}

function renderNotices(report: QueuedImport, hint: CommandHint): readonly string[] {
  const { known, notices, ignoredColumns } = report
  return [
    ...(known === 0 ? [] : [`${formatCount(known)} ${known === 1 ? 'ref was' : 'refs were'} queued before`]),
    ...notices.map(renderKind),
    ...renderDiffering(report, hint),
    ...(ignoredColumns.length === 0 ? [] : [`columns not used: ${ignoredColumns.map(toPrintable).join(', ')}`]),
  ]
}

/** Rows of an export that were changed by hand keep their refs, so they are skipped. */
function renderDiffering({ differing, differingBatch }: QueuedImport, hint: CommandHint): readonly string[] {
  if (differing === 0) return []
  const revert = hint(`writeback revert --batch ${differingBatch ?? 'NAME'}`)
  return [`to take back what was sent: ${revert}`, 'to queue these rows as new write-backs: empty their column ref']
}

export function renderImportedBefore(report: { readonly batch: string }, hint: CommandHint): CommandResult {
  const { batch } = report
  const lines = [
    `queued nothing: this file was imported as ${batch}`,
    `see: ${hint(`writeback batches show ${batch}`)}`,
    `to send again what was not done: ${hint(`writeback retry --batch ${batch} --status failed,conflict,cancelled,expired`)}`,
  ]
  return { document: report, lines, exit: 0 }
}

/** Renders how long sending takes, and the next command. */
export function renderEstimate(
  estimate: SendEstimate,
  { writeRate, readOnly }: ProjectConfig,
  hint: CommandHint,
): string[] {
  const { ahead, takesMs, worker } = estimate
  const aheadText = ahead === 0 ? '' : `, including ${formatCount(ahead)} queued earlier`
  const rate = `${formatCount(writeRate.requests)} writes in ${formatDuration(writeRate.windowMs)}`
  return [
    `takes about ${formatDuration(Math.max(1000, takesMs))} at ${rate}${aheadText}`,
    renderNextStep(worker, readOnly, hint),
  ]
}

function renderNextStep(worker: boolean, readOnly: boolean, hint: CommandHint): string {
  if (readOnly) return 'nothing is sent while writing is switched off (DESKMIRROR_READ_ONLY)'
  return worker ? 'the running worker sends it' : `next: ${hint('push')}`
}

/** Renders the end of `import --dry-run`, below the review: how long sending would take. */
export function renderPreview(report: PreviewReport, project: ProjectConfig, hint: CommandHint): CommandResult {
  if (report.outcome === 'mistaken') return renderMistakes(report)
  if (report.outcome === 'imported before') return renderImportedBefore(report, hint)
  const { review, draft } = report
  const [durationLine = ''] = renderEstimate(report, project, hint)
  const lines = [durationLine, ...(draft ? ['they would need approval'] : [])]
  return {
    document: report,
    lines: [...lines, 'nothing was queued'].map(toPrintable),
    exit: hasObstacle(review) ? 3 : 0,
  }
}

/** From the mirror, or by the check. */
function hasObstacle({ counts, checks }: ReviewSummary): boolean {
  return counts.stands_against > 0 || checks.samples.some(({ check }) => check?.outcome === 'stands_against')
}
