/** How things go on with what is queued, in lines for a person. */
import type { ProjectConfig } from '../../config.ts'
import type { Outlook } from '../../core/outbox/report.ts'
import type { Typed } from '../../core/typed.ts'
import { count, duration } from '../readable.ts'

/** How long it takes, and the next command. */
export function outlookLines(outlook: Outlook, { writeRate, readOnly }: ProjectConfig, typed: Typed): string[] {
  const { ahead, takesMs, worker } = outlook
  const before = ahead === 0 ? '' : `, with ${count(ahead)} that were queued before`
  const rate = `${count(writeRate.requests)} writes in ${duration(writeRate.windowMs)}`
  return [`takes about ${duration(Math.max(1000, takesMs))} at ${rate}${before}`, nextLine(worker, readOnly, typed)]
}

function nextLine(worker: boolean, readOnly: boolean, typed: Typed): string {
  if (readOnly) return 'nothing is sent while writing is switched off (DESKMIRROR_READ_ONLY)'
  return worker ? 'the worker that runs sends it' : `next: ${typed('push')}`
}
