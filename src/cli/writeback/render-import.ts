/** Renders the result of `import`: what was queued, or the mistakes, one line a kind. */

import type { DryRunReport, ImportReport } from '../../app/import.ts'
import type { ProjectConfig } from '../../config/config.ts'
import { requestColumns } from '../../imports/csv-header-words.ts'
import type { MistakeKind, QueuedImport, RejectedImport } from '../../imports/imports.ts'
import { formatRows } from '../../imports/mistake-kinds.ts'
import { mistakeText } from '../../outbox/core/writeback-request.ts'
import type { ImportOverride, SendEstimate } from '../../outbox/outbox.ts'
import { formatCount, formatDuration, pluralize, toPrintable } from '../../values/format.ts'
import type { CommandHint } from '../../values/user-error.ts'
import type { CommandResult } from '../command.ts'
import { linesOf } from '../render/table.ts'

export function renderImport(
  report: ImportReport,
  project: ProjectConfig,
  hint: CommandHint,
): CommandResult {
  if (report.outcome === 'mistaken') return renderMistakes(report)
  if (report.outcome === 'imported before') return renderImportedBefore(report, hint)
  const {
    batch,
    queued,
    alreadyQueued,
    outcome,
    notices,
    ignoredColumns,
    differing,
    differingBatch,
    emptyRows,
  } = report
  const revert = hint(`writeback revert --batch ${differingBatch ?? 'NAME'}`)
  const around = linesOf(
    alreadyQueued > 0 &&
      `${formatCount(alreadyQueued)} ${alreadyQueued === 1 ? 'ref was' : 'refs were'} queued before`,
    notices.map(renderKind),
    // Rows of an export that were changed by hand keep their refs, so they are skipped.
    differing > 0 && [
      `to take back what was sent: ${revert}`,
      'to queue these rows as new write-backs: empty their column ref',
    ],
    renderSheet(report),
    ignoredColumns.length > 0 && `columns not used: ${ignoredColumns.map(toPrintable).join(', ')}`,
  )
  const exit = differing > 0 ? 3 : 0
  if (batch === null) {
    const nothing = `queued nothing${alreadyQueued === 0 && emptyRows === 0 ? ': the file has no rows' : ''}`
    return { document: report, lines: [nothing, ...around], exit }
  }
  const approve =
    `${queued === 1 ? 'it waits' : 'they wait'} for approval: ` +
    `${hint(`writeback approve --batch ${batch}`)}`
  const [durationLine = '', next = ''] = renderEstimate(report, project, hint)
  const lines = [`queued ${formatCount(queued)} as ${batch}`, ...around, durationLine]
  return { document: report, lines: [...lines, outcome === 'draft' ? approve : next], exit }
}

/** What is said of a sheet of replies. */
function renderSheet({
  emptyRows,
  columns,
}: Pick<QueuedImport, 'emptyRows' | 'columns'>): readonly string[] {
  const meanings = Object.entries(columns).map(
    ([header, column]) => `${toPrintable(header)} = ${column}`,
  )
  return linesOf(
    emptyRows > 0 && `${pluralize(emptyRows, 'row')} without a reply or a flag skipped`,
    meanings.length > 0 && `columns read as ${meanings.join(', ')}`,
  )
}

function renderImportedBefore(
  report: { readonly batch: string },
  hint: CommandHint,
): CommandResult {
  const { batch } = report
  const lines = [
    `queued nothing: this file was imported as ${batch}`,
    `see: ${hint(`writeback batches show ${batch}`)}`,
    'to send again what was not done: ' +
      `${hint(`writeback retry --batch ${batch} --status failed,conflict,cancelled,expired`)}`,
  ]
  return { document: report, lines, exit: 0 }
}

/** Renders how long sending takes, and the next command. */
export function renderEstimate(
  { queuedEarlier, takesMs, worker, whyStopped }: SendEstimate,
  { writeRate, readOnly }: ProjectConfig,
  hint: CommandHint,
): string[] {
  const aheadText =
    queuedEarlier === 0 ? '' : `, including ${formatCount(queuedEarlier)} queued earlier`
  const rate = `${formatCount(writeRate.requests)} writes in ${formatDuration(writeRate.windowMs)}`
  const next =
    whyStopped !== null
      ? `${whyStopped}: nothing leaves before ${hint('writeback resume --all')}`
      : worker
        ? 'the running worker sends it'
        : `next: ${hint('push')}`
  return [
    `takes about ${formatDuration(Math.max(1000, takesMs))} at ${rate}${aheadText}`,
    readOnly ? 'nothing is sent while writing is switched off (DESKMIRROR_READ_ONLY)' : next,
  ]
}

/** Renders the end of `import --dry-run`, below the review: how long sending would take. */
export function renderDryRun(
  report: DryRunReport,
  project: ProjectConfig,
  hint: CommandHint,
): CommandResult {
  if (report.outcome === 'mistaken') return renderMistakes(report)
  if (report.outcome === 'imported before') return renderImportedBefore(report, hint)
  const [durationLine = ''] = renderEstimate(report, project, hint)
  const lines = linesOf(
    durationLine,
    report.notices.map(renderKind),
    renderSheet(report),
    report.draft && 'they would need approval',
    'nothing was queued',
  )
  const hasObstacle = report.review.counts.stands_against > 0
  return { document: report, lines: lines.map(toPrintable), exit: hasObstacle ? 3 : 0 }
}

/** Further kinds are only counted. */
const maxShownKinds = 20

function renderMistakes(
  report: Extract<RejectedImport, { readonly outcome: 'mistaken' }>,
): CommandResult {
  const { rows, mistaken, kinds, mistakesFile } = report
  const beyond = kinds.length - maxShownKinds
  const have = mistaken === 1 ? 'has a mistake' : 'have mistakes'
  // Where the header has mistakes, no row could be read.
  const why =
    rows === 0
      ? 'the first row does not fit'
      : `${formatCount(mistaken)} of ${pluralize(rows, 'row')} ${have}`
  const overridden = new Set(kinds.flatMap(({ override }) => override ?? []))
  const hints = linesOf(
    'correct the file and import it again',
    [...overridden].map((override) => overrides[override]),
    kinds.some(({ field, why }) => field === 'sender_name' && why === 'is missing') &&
      '--sender-name NAME signs the replies that name none, and reply_as in the configuration ' +
        'signs those of every import',
    mistakesFile !== null && `${mistakesFile} has these rows, each with its mistakes`,
    mistakesFile === null &&
      rows > 0 &&
      '--mistakes FILE.csv writes these rows to a file, each with its mistakes',
  )
  const error = {
    what: `nothing was queued, as ${why}`,
    why: linesOf(
      kinds.slice(0, maxShownKinds).map(renderKind),
      beyond > 0 && `… and ${pluralize(beyond, 'kind')} more; --json lists them`,
    ).join('\n'),
    next: hints.join('; '),
    exitCode: 2,
  } as const
  return { document: { error, ...report }, lines: [], exit: 2, errors: [error] }
}

/** `content: is missing · 30 rows: 2–31 · ref A-1, A-2` */
function renderKind({ count, found, foundOthers, rows, refs, ...mistake }: MistakeKind): string {
  // What a reply repeats is no value of the file.
  const isRepetition = mistake.override === 'allow-duplicates'
  const values = found.map(
    ({ value, count: times }) =>
      `${isRepetition ? toPrintable(value) : `"${toPrintable(value)}"`}${times === 1 ? '' : ` (${formatCount(times)})`}`,
  )
  const others = foundOthers > 0 ? [pluralize(foundOthers, 'other')] : []
  const refText = refs.map(toPrintable).join(', ')
  return linesOf(
    mistakeText(mistake),
    `${count === 1 ? 'row' : `${pluralize(count, 'row')}:`} ${formatRows(rows, count)}`,
    values.length > 0 &&
      `${isRepetition ? 'before: ' : 'found '}${[...values, ...others].join(', ')}`,
    refs.length > 0 && `ref ${refText}${refs.length < count ? ', …' : ''}`,
  ).join(' · ')
}

const overrides: Readonly<Record<ImportOverride, string>> = {
  'ignore-columns':
    `the columns of an import are ${requestColumns.join(', ')}; --ignore-columns a,b leaves ` +
    'others out, and --map says what they mean',
  'allow-duplicates': '--allow-duplicates queues them all the same',
  encoding: '--encoding NAME reads the file in that encoding, for example windows-1252',
}
