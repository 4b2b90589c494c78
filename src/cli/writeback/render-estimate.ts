/** How things go on with what is queued, in lines for a person. */
import type { ProjectConfig } from '../../config/load.ts'
import type { SendEstimate } from '../../core/outbox/reports.ts'
import type { CommandHint } from '../../core/command-hint.ts'
import { formatCount, formatDuration } from '../render/format.ts'

/** How long it takes, and the next command. */
export function renderEstimate(estimate: SendEstimate, { writeRate, readOnly }: ProjectConfig, typed: CommandHint): string[] {
  const { ahead, takesMs, worker } = estimate
  const aheadText = ahead === 0 ? '' : `, with ${formatCount(ahead)} that were queued before`
  const rate = `${formatCount(writeRate.requests)} writes in ${formatDuration(writeRate.windowMs)}`
  return [`takes about ${formatDuration(Math.max(1000, takesMs))} at ${rate}${aheadText}`, renderNextStep(worker, readOnly, typed)]
}

function renderNextStep(worker: boolean, readOnly: boolean, typed: CommandHint): string {
  if (readOnly) return 'nothing is sent while writing is switched off (DESKMIRROR_READ_ONLY)'
  return worker ? 'the worker that runs sends it' : `next: ${typed('push')}`
}
