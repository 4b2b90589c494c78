/** What `import` answers: what was queued, or which lines have mistakes. */
import type { ProjectConfig } from '../../config.ts'
import type { ImportReport, Mistake } from '../../core/outbox/report.ts'
import type { Typed } from '../../core/typed.ts'
import type { Answer } from '../answer.ts'
import { count, plural } from '../readable.ts'
import { outlookLines } from './outlook.ts'

export function showImport(report: ImportReport, project: ProjectConfig, typed: Typed): Answer {
  if (report.outcome === 'mistaken') return mistaken(report)
  if (report.outcome === 'imported before') return importedBefore(report, typed)
  const { batch, queued, known, outcome } = report
  const before = known === 0 ? [] : [`${count(known)} ${known === 1 ? 'ref was' : 'refs were'} queued before`]
  if (batch === null) {
    return {
      document: report,
      lines: [`queued nothing${known === 0 ? ': the file has no lines' : ''}`, ...before],
      exit: 0,
    }
  }
  const approve = `${queued === 1 ? 'it waits' : 'they wait'} for approval: ${typed(`writeback approve --batch ${batch}`)}`
  const [takes = '', next = ''] = outlookLines(report, project, typed)
  const head = `queued ${count(queued)} as ${batch}`
  return { document: report, lines: [head, ...before, takes, outcome === 'draft' ? approve : next], exit: 0 }
}

export function importedBefore(report: { readonly batch: string }, typed: Typed): Answer {
  const { batch } = report
  const lines = [
    `queued nothing: this file was imported as ${batch}`,
    `see: ${typed(`writeback list --batch ${batch}`)}`,
    `what failed or was cancelled goes again by: ${typed(`writeback retry --batch ${batch} --status failed,cancelled`)}`,
  ]
  return { document: report, lines, exit: 0 }
}

/** More than a person reads are counted. */
const shown = 20

export function mistaken(report: { readonly mistaken: number; readonly mistakes: readonly Mistake[] }): Answer {
  const told = report.mistakes.flatMap(({ line, why }) => why.map((one) => `line ${line}: ${one}`))
  const beyond = report.mistaken - Math.min(shown, report.mistakes.length)
  const lines = report.mistakes.slice(0, shown).reduce((sum, { why }) => sum + why.length, 0)
  const more =
    beyond > 0 ? [`… and ${plural(beyond, 'line')} more${report.mistaken > 100 ? '' : '; --json lists them'}`] : []
  const error = {
    what: `nothing is queued, as ${plural(report.mistaken, 'line')} ${report.mistaken === 1 ? 'has a mistake' : 'have mistakes'}`,
    why: [...told.slice(0, lines), ...more].join('\n'),
    next: 'mend them, and import the file again',
    exitCode: 2,
  } as const
  return { document: { error, ...report }, lines: [], exit: 2, troubles: [error] }
}
