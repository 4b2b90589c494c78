/** What is not certain in a report: each reason in a sentence, the most serious first. */
import { localDateAt } from '../../values/days.ts'
import { formatCount, pluralize, timeText } from '../../values/format.ts'
import { parseTime } from '../../values/time.ts'
import type { ReportData } from '../sql/report-data.ts'

/** Sentences by the stable name of the reason; false = it does not apply. */
type Reasons = Readonly<Record<string, string | false>>

export function findUncertainties(data: ReportData) {
  const { current, streams, quality } = data
  const reasons: Reasons[] = [
    ofTheFacts(data),
    ofThePeriod(data),
    ...streams.flatMap(ofAStream),
    ofTheCalls(data),
    { 'waiting differs': data.serviceDifference ?? false },
    ...current.targets.map(({ name, open }) => {
      const verbs =
        open === 1 ? 'is not answered yet, and counts' : 'are not answered yet, and count'
      const text = `${pluralize(open, 'wait')} of the target ${name} ${verbs} as neither met nor missed.`
      return { 'targets undecided': open > 0 && text }
    }),
    ...quality.map(({ what, meaning, all, wrong }) => {
      const text =
        `Over all history: ${what}, ${formatCount(wrong)} of ${formatCount(all)} ` + `(${meaning}).`
      return { [`all history: ${what}`]: wrong > 0 && text }
    }),
  ]
  return reasons
    .flatMap((some) => Object.entries(some))
    .flatMap(([what, text]) => (text === false ? [] : [{ what, text }]))
}

function ofTheFacts({
  project: { asOf, isRebuilding, factsDue, timeZone },
  period,
}: ReportData): Reasons {
  const due = pluralize(factsDue, 'changed row')
  return {
    'facts rebuilding':
      isRebuilding &&
      'The facts are being derived anew, so many rows are missing. The next syncs derive the rest.',
    'facts due':
      !isRebuilding &&
      factsDue > 0 &&
      `The facts of ${due} are still to be derived. The next sync does it.`,
    'not complete':
      asOf === null
        ? 'Conversations or messages have never been read to their end, so some may be missing.'
        : localDateAt(parseTime(asOf) ?? 0, timeZone) <= period.to &&
          `Conversations and messages are complete only up to ${timeText(asOf, timeZone)}.`,
  }
}

function ofThePeriod({
  period,
  today,
  firstDate,
  mirroredFrom,
  project,
  current,
}: ReportData): Reasons {
  const { before } = period
  const { incomplete, started } = current.counts
  const hasBefore = firstDate !== null && firstDate <= before.to
  return {
    'period not over':
      period.to >= today &&
      `The period is not over: ${today} is today. ` +
        (period.whole === null
          ? 'Its numbers are those so far, and compared with nothing.'
          : `Its numbers are those up to ${period.whole.to}.`),
    'no period before':
      !hasBefore && `There is nothing to compare: no conversation is older than ${period.from}.`,
    'period before not whole':
      hasBefore &&
      firstDate > before.from &&
      `The oldest conversation is of ${firstDate}, so the period before may not be whole.`,
    'history before the mirror':
      mirroredFrom > before.from &&
      `The mirror began at ${timeText(project.mirroredSince, project.timeZone)}. ` +
        'Reopenings before it are not known, so the backlog of earlier days is too small.',
    'incomplete conversations':
      incomplete > 0 &&
      `${formatCount(incomplete)} of ${pluralize(started, 'conversation')} that started in ` +
        `the period ${incomplete === 1 ? 'is' : 'are'} incomplete: messages, times or ` +
        'senders are not known. Response times and targets leave them out.',
  }
}

function ofAStream(row: ReportData['streams'][number]): Reasons[] {
  const { stream, syncedAt, skipped, failed, openGaps, neverRead } = row
  const reasons = [
    skipped !== null && `is skipped, because the key lacks the scope ${skipped}`,
    skipped === null && syncedAt === null && 'has never been read to its end',
    failed !== null && `failed in its last sync: ${failed}`,
    openGaps > 0 && `has ${pluralize(openGaps, 'open gap')}`,
    neverRead > 0 && `has ${pluralize(neverRead, 'row')} of which nothing was read yet`,
  ]
  return reasons.map((reason) => ({
    [`stream ${stream}`]: reason && `The stream ${stream} ${reason}.`,
  }))
}

function ofTheCalls({ current: { calls }, project }: ReportData): Reasons {
  const unknown = calls.calls - calls.withLength
  const text =
    `The length of ${formatCount(unknown)} of ${pluralize(calls.calls, 'call')} is not ` +
    'known. The setting analytics.calls names the fields of calls.'
  return { 'calls without a length': project.callsAsOf !== null && unknown !== 0 && text }
}
