/** The progress of an export as one line: rows, how fast, and how long it still takes. */
import type { ExportProgress } from '../../core/export.ts'
import { formatCount, formatDuration, pluralize } from '../../core/format.ts'
import type { EpochMs, Ms } from '../../core/time.ts'
import type { Display } from './display.ts'

export function createExportProgress(
  display: Pick<Display, 'onLine'>,
  now: () => EpochMs,
): (progress: ExportProgress) => void {
  let [object, since] = ['', now()]
  return (progress) => {
    if (progress.object !== object) [object, since] = [progress.object, now()]
    display.onLine(renderExportProgress(progress, now() - since))
  }
}

/** `messages   120,000 of 1,000,000 rows   45,000 rows/s   about 20 s left`; the parts that are known. */
export function renderExportProgress({ object, rows, total }: ExportProgress, tookMs: Ms): string {
  const count = total === null ? pluralize(rows, 'row') : `${formatCount(rows)} of ${pluralize(total, 'row')}`
  const isMeasurable = tookMs >= 500
  const rate = isMeasurable ? `${formatCount(Math.round((rows / tookMs) * 1000))} rows/s` : ''
  const left = isMeasurable && total !== null && rows > 0 ? Math.max(0, total - rows) * (tookMs / rows) : 0
  return [object, count, rate, left === 0 ? '' : `about ${formatDuration(Math.max(1000, left))} left`]
    .filter((part) => part !== '')
    .join('   ')
}
