/** What `import --dry-run` answers: a line for each line of the file, and totals. */
import type { ProjectConfig } from '../../config.ts'
import type { Preview, PreviewReport } from '../../core/outbox/report.ts'
import type { Typed } from '../../core/typed.ts'
import type { Answer } from '../answer.ts'
import { count, plural, printable } from '../readable.ts'
import { aligned } from '../table.ts'
import { importedBefore, mistaken } from './imported.ts'
import { outlookLines } from './outlook.ts'

const marks: Readonly<Record<Preview['would'], string>> = {
  change: '',
  send: '',
  nothing: '',
  known: 'not queued: ',
  conflict: 'conflict: ',
  fail: 'would fail: ',
  unknown: '',
}

export function showPreview(report: PreviewReport, project: ProjectConfig, typed: Typed): Answer {
  if (report.outcome === 'mistaken') return mistaken(report)
  if (report.outcome === 'imported before') return importedBefore(report, typed)
  const { lines, beyond, draft } = report
  const rows = lines.map(({ line, operation, target, would, detail, after }) => [
    `line ${line}`,
    operation,
    target,
    `${marks[would]}${detail}${after === null ? '' : ` (after line ${after})`}`,
  ])
  const [takes = ''] = outlookLines(report, project, typed)
  return {
    document: report,
    lines: [
      ...aligned(rows),
      ...(beyond > 0 ? [`… and ${plural(beyond, 'line')} more, not looked at; --limit looks at more`] : []),
      totals(lines),
      takes,
      ...(draft ? ['it would wait for approval'] : []),
      'nothing was queued',
    ].map(printable),
    exit: lines.some(({ would }) => would === 'conflict' || would === 'fail') ? 3 : 0,
  }
}

function totals(lines: readonly Preview[]): string {
  const would = Map.groupBy(lines, (it) => it.would)
  const names: Readonly<Record<Preview['would'], string>> = {
    change: 'to change',
    send: 'to send',
    nothing: 'so already',
    known: 'queued before',
    conflict: 'in conflict',
    fail: 'not possible',
    unknown: 'unknown',
  }
  const parts = [...would].map(([what, some]) => `${count(some.length)} ${names[what]}`)
  return parts.length === 0 ? 'no lines looked at' : parts.join(', ')
}
