/** Renders the result of `import`: what was queued, or the mistakes, one line a kind. */
import type { ProjectConfig } from '../../config/config.ts'
import type { ImportReport, LineMistake, PreviewReport, QueuedImport, SendEstimate } from '../../outbox/core/reports.ts'
import { formatRows, type ImportOverride, type MistakeKind, mistakeText } from '../../outbox/core/request-mistake.ts'
import type { ReviewSummary } from '../../outbox/core/review-summary.ts'
import { requestColumns } from '../../outbox/import/csv-columns.ts'
import { formatCount, formatDuration, pluralize, toPrintable } from '../../values/format.ts'
import type { CommandHint } from '../../values/user-error.ts'
import type { CommandResult } from '../command-result.ts'

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

function renderImportedBefore(report: { readonly batch: string }, hint: CommandHint): CommandResult {
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

type MistakesReport = {
  readonly rows: number
  readonly mistaken: number
  readonly kinds: readonly MistakeKind[]
  readonly mistakes: readonly LineMistake[]
  readonly mistakesFile: string | null
}

/** Further kinds are only counted. */
const maxShownKinds = 20

function renderMistakes(report: MistakesReport): CommandResult {
  const { kinds } = report
  const shown = kinds.slice(0, maxShownKinds)
  const beyond = kinds.length - shown.length
  const more = beyond > 0 ? [`… and ${pluralize(beyond, 'kind')} more; --json lists them`] : []
  const error = {
    what: `nothing was queued, as ${describeMistaken(report)}`,
    why: [...shown.map(renderKind), ...more].join('\n'),
    next: ['correct the file and import it again', ...overrideHints(kinds), ...mistakesHint(report)].join('; '),
    exitCode: 2,
  } as const
  return { document: { error, ...report }, lines: [], exit: 2, errors: [error] }
}

/** Where the header has mistakes, no row could be read. */
function describeMistaken({ rows, mistaken }: MistakesReport): string {
  if (rows === 0) return 'the first row does not fit'
  return `${formatCount(mistaken)} of ${pluralize(rows, 'row')} ${mistaken === 1 ? 'has a mistake' : 'have mistakes'}`
}

/** `content: is missing · 30 rows: 2–31 · ref A-1, A-2` */
function renderKind({ count, found, foundOthers, rows, refs, ...mistake }: MistakeKind): string {
  // What a reply repeats is no value of the file.
  const isRepetition = mistake.override === 'allow-duplicates'
  const values = found.map(
    ({ value, count: times }) =>
      `${isRepetition ? toPrintable(value) : quote(value)}${times === 1 ? '' : ` (${formatCount(times)})`}`,
  )
  const others = foundOthers > 0 ? [pluralize(foundOthers, 'other')] : []
  const refText = refs.map(toPrintable).join(', ')
  const parts = [
    mistakeText(mistake),
    `${count === 1 ? 'row' : `${pluralize(count, 'row')}:`} ${formatRows(rows, count)}`,
    ...(values.length === 0 ? [] : [`${isRepetition ? 'before: ' : 'found '}${[...values, ...others].join(', ')}`]),
    ...(refs.length === 0 ? [] : [`ref ${refText}${refs.length < count ? ', …' : ''}`]),
  ]
  return parts.join(' · ')
}

function quote(value: string): string {
  return `"${toPrintable(value)}"`
}

const overrides: Readonly<Record<ImportOverride, string>> = {
  'ignore-columns': `the columns of an import are ${requestColumns.join(', ')}; --ignore-columns a,b leaves others out`,
  'allow-duplicates': '--allow-duplicates queues them all the same',
  encoding: '--encoding NAME reads the file in that encoding, for example windows-1252',
}

function overrideHints(kinds: readonly MistakeKind[]): readonly string[] {
  const named = new Set(kinds.flatMap(({ override }) => override ?? []))
  return [...named].map((override) => overrides[override])
}

function mistakesHint({ rows, mistakesFile }: MistakesReport): readonly string[] {
  if (mistakesFile !== null) return [`${mistakesFile} has these rows, each with its mistakes`]
  return rows === 0 ? [] : ['--mistakes FILE.csv writes these rows to a file, each with its mistakes']
}
