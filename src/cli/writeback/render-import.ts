/** What `import` answers: what was queued, or which lines have mistakes. */
import type { ProjectConfig } from '../../config/load.ts'
import type { ImportReport, LineMistake } from '../../core/outbox/reports.ts'
import type { CommandHint } from '../../core/command-hint.ts'
import type { CommandResult } from '../command-result.ts'
import { formatCount, pluralize } from '../render/format.ts'
import { renderEstimate } from './render-estimate.ts'

export function renderImport(report: ImportReport, project: ProjectConfig, typed: CommandHint): CommandResult {
  if (report.outcome === 'mistaken') return renderMistakes(report)
  if (report.outcome === 'imported before') return renderImportedBefore(report, typed)
  const { batch, queued, known, outcome } = report
  const duplicateLines = known === 0 ? [] : [`${formatCount(known)} ${known === 1 ? 'ref was' : 'refs were'} queued before`]
  if (batch === null) {
    return {
      document: report,
      lines: [`queued nothing${known === 0 ? ': the file has no lines' : ''}`, ...duplicateLines],
      exit: 0,
    }
  }
  const approve = `${queued === 1 ? 'it waits' : 'they wait'} for approval: ${typed(`writeback approve --batch ${batch}`)}`
  const [durationLine = '', next = ''] = renderEstimate(report, project, typed)
  const summary = `queued ${formatCount(queued)} as ${batch}`
  return { document: report, lines: [summary, ...duplicateLines, durationLine, outcome === 'draft' ? approve : next], exit: 0 }
}

export function renderImportedBefore(report: { readonly batch: string }, typed: CommandHint): CommandResult {
  const { batch } = report
  const lines = [
    `queued nothing: this file was imported as ${batch}`,
    `see: ${typed(`writeback list --batch ${batch}`)}`,
    `what failed or was cancelled goes again by: ${typed(`writeback retry --batch ${batch} --status failed,cancelled`)}`,
  ]
  return { document: report, lines, exit: 0 }
}

/** More than a person reads are counted. */
const maxShownLines = 20

export function renderMistakes(report: { readonly mistaken: number; readonly mistakes: readonly LineMistake[] }): CommandResult {
  const messages = report.mistakes.flatMap(({ line, why }) => why.map((one) => `line ${line}: ${one}`))
  const beyond = report.mistaken - Math.min(maxShownLines, report.mistakes.length)
  const lines = report.mistakes.slice(0, maxShownLines).reduce((sum, { why }) => sum + why.length, 0)
  const more =
    beyond > 0 ? [`… and ${pluralize(beyond, 'line')} more${report.mistaken > 100 ? '' : '; --json lists them'}`] : []
  const error = {
    what: `nothing is queued, as ${pluralize(report.mistaken, 'line')} ${report.mistaken === 1 ? 'has a mistake' : 'have mistakes'}`,
    why: [...messages.slice(0, lines), ...more].join('\n'),
    next: 'mend them, and import the file again',
    exitCode: 2,
  } as const
  return { document: { error, ...report }, lines: [], exit: 2, errors: [error] }
}
