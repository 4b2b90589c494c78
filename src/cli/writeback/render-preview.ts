/** Renders the result of `import --dry-run`: a row for each line of the file, and totals. */
import type { ProjectConfig } from '../../config/config.ts'
import type { CommandHint } from '../../core/command-hint.ts'
import { formatCount, pluralize, toPrintable } from '../../core/format.ts'
import type { LinePreview, PreviewReport } from '../../core/outbox/reports.ts'
import type { CommandResult } from '../command-result.ts'
import { alignColumns } from '../render/table.ts'
import { renderEstimate, renderImportedBefore, renderMistakes } from './render-import.ts'

const resultPrefixes: Readonly<Record<LinePreview['would'], string>> = {
  change: '',
  send: '',
  nothing: '',
  known: 'not queued: ',
  conflict: 'conflict: ',
  fail: 'would fail: ',
  unknown: '',
}

export function renderPreview(report: PreviewReport, project: ProjectConfig, hint: CommandHint): CommandResult {
  if (report.outcome === 'mistaken') return renderMistakes(report)
  if (report.outcome === 'imported before') return renderImportedBefore(report, hint)
  const { lines, beyond, draft } = report
  const rows = lines.map(({ line, operation, target, would, detail, after }) => [
    `line ${line}`,
    operation,
    target,
    `${resultPrefixes[would]}${detail}${after === null ? '' : ` (after line ${after})`}`,
  ])
  const [durationLine = ''] = renderEstimate(report, project, hint)
  return {
    document: report,
    lines: [
      ...alignColumns(rows),
      ...(beyond > 0 ? [`… and ${pluralize(beyond, 'line')} more, not compared; --limit compares more`] : []),
      renderTotals(lines),
      durationLine,
      ...(draft ? ['it would need approval'] : []),
      'nothing was queued',
    ].map(toPrintable),
    exit: lines.some(({ would }) => would === 'conflict' || would === 'fail') ? 3 : 0,
  }
}

function renderTotals(lines: readonly LinePreview[]): string {
  const would = Map.groupBy(lines, (line) => line.would)
  const names: Readonly<Record<LinePreview['would'], string>> = {
    change: 'to change',
    send: 'to send',
    nothing: 'unchanged',
    known: 'queued before',
    conflict: 'in conflict',
    fail: 'not possible',
    unknown: 'unknown',
  }
  const parts = [...would].map(([what, group]) => `${formatCount(group.length)} ${names[what]}`)
  return parts.length === 0 ? 'no lines compared' : parts.join(', ')
}
