/** Renders the result of `import`: what was queued, or which lines have mistakes. */
import type { ProjectConfig } from '../../config/config.ts'
import type { CommandHint } from '../../core/command-hint.ts'
import { formatCount, formatDuration, pluralize } from '../../core/format.ts'
import type { ImportReport, LineMistake, SendEstimate } from '../../core/outbox/reports.ts'
import type { CommandResult } from '../command-result.ts'

export function renderImport(report: ImportReport, project: ProjectConfig, hint: CommandHint): CommandResult {
  if (report.outcome === 'mistaken') return renderMistakes(report)
  if (report.outcome === 'imported before') return renderImportedBefore(report, hint)
  const { batch, queued, known, outcome } = report
  const duplicateLines =
    known === 0 ? [] : [`${formatCount(known)} ${known === 1 ? 'ref was' : 'refs were'} queued before`]
  if (batch === null) {
    const lines = [`queued nothing${known === 0 ? ': the file has no lines' : ''}`, ...duplicateLines]
    return { document: report, lines, exit: 0 }
  }
  const approve = `${queued === 1 ? 'it waits' : 'they wait'} for approval: ${hint(`writeback approve --batch ${batch}`)}`
  const [durationLine = '', next = ''] = renderEstimate(report, project, hint)
  const summary = `queued ${formatCount(queued)} as ${batch}`
  const lines = [summary, ...duplicateLines, durationLine, outcome === 'draft' ? approve : next]
  return { document: report, lines, exit: 0 }
}

export function renderImportedBefore(report: { readonly batch: string }, hint: CommandHint): CommandResult {
  const { batch } = report
  const lines = [
    `queued nothing: this file was imported as ${batch}`,
    `see: ${hint(`writeback list --batch ${batch}`)}`,
    `to send what failed or was cancelled again: ${hint(`writeback retry --batch ${batch} --status failed,cancelled`)}`,
  ]
  return { document: report, lines, exit: 0 }
}

/** Further lines are only counted. */
const maxShownLines = 20

export function renderMistakes(report: {
  readonly mistaken: number
  readonly mistakes: readonly LineMistake[]
}): CommandResult {
  const messages = report.mistakes.flatMap(({ line, why }) => why.map((mistake) => `line ${line}: ${mistake}`))
  const beyond = report.mistaken - Math.min(maxShownLines, report.mistakes.length)
  const lines = report.mistakes.slice(0, maxShownLines).reduce((sum, { why }) => sum + why.length, 0)
  const more =
    beyond > 0 ? [`… and ${pluralize(beyond, 'line')} more${report.mistaken > 100 ? '' : '; --json lists them'}`] : []
  const error = {
    what: `nothing was queued, as ${pluralize(report.mistaken, 'line')} ${report.mistaken === 1 ? 'has a mistake' : 'have mistakes'}`,
    why: [...messages.slice(0, lines), ...more].join('\n'),
    next: 'fix these lines and import the file again',
    exitCode: 2,
  } as const
  return { document: { error, ...report }, lines: [], exit: 2, errors: [error] }
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
