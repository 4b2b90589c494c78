/** What is not certain in a report: each reason in a sentence, the most serious first. */
import { localDateAt } from '../../values/days.ts'
import { formatCount, pluralize } from '../../values/format.ts'
import { type LocalDate, parseTime } from '../../values/time.ts'
import type { ReportData, StreamRow } from '../sql/report-data.ts'

/** `what`: a stable name. */
export type Uncertainty = { readonly what: string; readonly text: string }

export function findUncertainties(data: ReportData): Uncertainty[] {
  return [
    ...ofTheFacts(data),
    ...ofThePeriod(data),
    ...ofTheStreams(data.streams),
    ...ofTheCalls(data),
    ...ofTheTargets(data),
    ...ofTheRollup(data),
    ...ofAllHistory(data),
  ]
}

function ofTheFacts({ project, period }: ReportData): Uncertainty[] {
  const { asOf, isRebuilding, factsDue } = project
  const found: Uncertainty[] = []
  if (isRebuilding) {
    const text = 'The facts are being derived anew, so many rows are missing. The next syncs derive the rest.'
    found.push({ what: 'facts rebuilding', text })
  } else if (factsDue > 0) {
    const text = `The facts of ${pluralize(factsDue, 'changed row')} are still to be derived. The next sync does it.`
    found.push({ what: 'facts due', text })
  }
  if (asOf === null) {
    const text = 'Conversations or messages have never been read to their end, so some may be missing.'
    found.push({ what: 'not complete', text })
  } else if (localDateOf(asOf, project.timeZone) <= period.to) {
    const text = `Conversations and messages are complete only up to ${asOf}.`
    found.push({ what: 'not complete', text })
  }
  return found
}

function ofThePeriod({ period, today, firstDate, project, current }: ReportData): Uncertainty[] {
  const found: Uncertainty[] = []
  if (period.to >= today) {
    const text = `The period is not over: ${today} is today. Its numbers are lower than those of a whole period.`
    found.push({ what: 'period not over', text })
  }
  if (firstDate === null || firstDate > period.before.to) {
    const text = `There is nothing to compare: no conversation is older than ${period.from}.`
    found.push({ what: 'no period before', text })
  } else if (firstDate > period.before.from) {
    const text = `The oldest conversation is of ${firstDate}, so the period before may not be whole.`
    found.push({ what: 'period before not whole', text })
  }
  if (localDateOf(project.mirroredSince, project.timeZone) > period.before.from) {
    const text = `The mirror began at ${project.mirroredSince}. Reopenings before it are not known, so the backlog of earlier days is too small.`
    found.push({ what: 'history before the mirror', text })
  }
  const { incomplete, started } = current.conversations
  if (incomplete > 0) {
    const text = `${formatCount(incomplete)} of ${pluralize(started, 'conversation')} that started in the period ${incomplete === 1 ? 'is' : 'are'} incomplete: messages, times or senders are not known. Response times and targets leave them out.`
    found.push({ what: 'incomplete conversations', text })
  }
  return found
}

function ofTheStreams(streams: readonly StreamRow[]): Uncertainty[] {
  return streams.flatMap(({ stream, syncedAt, skipped, failed, openGaps, neverRead }) => {
    const reasons: string[] = []
    if (skipped !== null) reasons.push(`is skipped, because the key lacks the scope ${skipped}`)
    else if (syncedAt === null) reasons.push('has never been read to its end')
    if (failed !== null) reasons.push(`failed in its last sync: ${failed}`)
    if (openGaps > 0) reasons.push(`has ${pluralize(openGaps, 'open gap')}`)
    if (neverRead > 0) reasons.push(`has ${pluralize(neverRead, 'row')} of which nothing was read yet`)
    return reasons.map((reason) => ({ what: `stream ${stream}`, text: `The stream ${stream} ${reason}.` }))
  })
}

function ofTheCalls({ current: { calls }, project }: ReportData): Uncertainty[] {
  const unknown = calls.calls - calls.withLength
  if (project.callsAsOf === null || unknown === 0) return []
  const text = `The length of ${formatCount(unknown)} of ${pluralize(calls.calls, 'call')} is not known. The setting analytics.calls names the fields of calls.`
  return [{ what: 'calls without a length', text }]
}

function ofTheTargets({ current: { targets } }: ReportData): Uncertainty[] {
  return targets
    .filter(({ open }) => open > 0)
    .map(({ name, open }) => ({
      what: 'targets undecided',
      text: `${pluralize(open, 'wait')} of the target ${name} ${open === 1 ? 'is not answered yet, and counts' : 'are not answered yet, and count'} as neither met nor missed.`,
    }))
}

function ofTheRollup({ rollup }: ReportData): Uncertainty[] {
  return rollup
    .filter(({ different }) => different > 0)
    .map(({ metric, different }) => ({
      what: 'rollup differs',
      text: `The service's number ${metric} differs from ours on ${pluralize(different, 'day')}.`,
    }))
}

function ofAllHistory({ quality }: ReportData): Uncertainty[] {
  return quality
    .filter(({ wrong }) => wrong > 0)
    .map(({ what, meaning, all, wrong }) => ({
      what: `all history: ${what}`,
      text: `Over all history: ${what}, ${formatCount(wrong)} of ${formatCount(all)} (${meaning}).`,
    }))
}

function localDateOf(time: string, timeZone: string): LocalDate {
  return localDateAt(parseTime(time) ?? 0, timeZone)
}
