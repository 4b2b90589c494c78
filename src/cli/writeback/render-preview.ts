/** Renders the end of `import --dry-run`, below the review: how long sending would take. */
import type { ProjectConfig } from '../../config/config.ts'
import type { CommandHint } from '../../core/command-hint.ts'
import { toPrintable } from '../../core/format.ts'
import type { PreviewReport } from '../../core/outbox/reports.ts'
import type { ReviewSummary } from '../../core/outbox/review-summary.ts'
import type { CommandResult } from '../command-result.ts'
import { renderEstimate, renderImportedBefore } from './render-import.ts'
import { renderMistakes } from './render-mistakes.ts'

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
