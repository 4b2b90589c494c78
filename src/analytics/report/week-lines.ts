/** The numbers of a week as five lines of a chat. */
import { type Change, formatChange, formatValue, type Unit } from './change.ts'
import type { Report } from './report.ts'

/** Null: not all of it has been read. */
export function weekLines(report: Report, link: string): readonly string[] | null {
  const { project, period, volume, backlog, responseTimes } = report
  if (period.whole === null || period.whole.from !== period.from || period.whole.to !== period.to)
    return null
  const first = responseTimes.find(
    ({ which, clock, hours }) => which === 'first' && clock === 'human' && hours === 'all',
  )
  const countOf = ({ value }: Change) => formatValue(value, 'count')
  const changed = (label: string, change: Change, unit: Unit) => {
    const compared = change.value === null ? '' : `, ${formatChange(change, unit)}`
    return `${label}: ${formatValue(change.value, unit)}${compared}`
  }
  const { waits, answeredByHuman, answeredByAi, closedWithoutAnswer } = volume
  return [
    `${project}: the week from ${period.from} to ${period.to} ${link}`.trimEnd(),
    changed('Conversations started', volume.conversationsStarted, 'count'),
    `Waits of visitors: ${countOf(waits)}; answered by a human ${countOf(answeredByHuman)}, by ` +
      `the AI ${countOf(answeredByAi)}, closed without an answer ${countOf(closedWithoutAnswer)}`,
    first === undefined
      ? 'First human response, median: –'
      : changed('First human response, median', first.medianSeconds, 'seconds'),
    `${changed('Open at the end', backlog.openAtEnd, 'count')}; of these waiting: ` +
      countOf(backlog.waitingAtEnd),
  ]
}
