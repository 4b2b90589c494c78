/** What changes on the page of a batch while it is sent. */
import { formatCount } from '../core/format.ts'
import type { BatchReport } from '../core/outbox/batches.ts'
import type { StatusCounts } from '../core/outbox/state.ts'
import { spanText } from './time.ts'
import { batchWord } from './writeback-words.ts'

type Zone = { readonly timeZone: string; readonly now: number }

export function settledOf({ draft = 0, queued = 0, sending = 0, ...counts }: StatusCounts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}

/** `412 of 707 settled · 295 to go, in about 2 min 50 s, at 14:32` */
export function batchLive(
  { batch, estimate }: Pick<BatchReport, 'batch' | 'estimate'>,
  { timeZone, now }: Zone,
): { readonly settled: number; readonly progress: string } {
  const settled = settledOf(batch.counts)
  const { queued = 0, sending = 0 } = batch.counts
  const left = queued + sending
  const clock = new Date(now + estimate.takesMs).toLocaleTimeString('sv-SE', {
    ...{ timeZone, hourCycle: 'h23', hour: '2-digit', minute: '2-digit' },
  })
  const toGo =
    left === 0 || batch.state !== 'sending'
      ? ''
      : ` · ${formatCount(left)} to go${estimate.worker ? `, in about ${spanText(estimate.takesMs)}, at ${clock}` : ''}`
  return { settled, progress: `${formatCount(settled)} of ${formatCount(batch.rows)} settled${toGo}` }
}

/** If this changes, the page is to be loaded anew. */
export function batchShape({ batch, estimate }: Pick<BatchReport, 'batch' | 'estimate'>): string {
  const { state, stoppedAt, counts } = batch
  return [batchWord(state), stoppedAt, counts.draft, (counts.uncertain ?? 0) > 0, estimate.restsUntil].join()
}
