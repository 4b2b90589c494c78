/**
 * The overview of a project: what needs a decision, then the work of the week, then how the data
 * is.
 */
import { withQuery } from '../../values/address.ts'
import { formatCount, pluralize } from '../../values/format.ts'
import { attribute, html, nothing } from '../../values/html.ts'
import { errorText } from '../../values/user-error.ts'
import { holdingSentences } from '../batch-state.ts'
import { addressOf, icon, livePart, type Sentence, section, sentences } from '../blocks.ts'
import { type StreamState, streamStateOf } from '../core/stream-state.ts'
import type { ConsolePage, ProjectFrame } from '../frame.ts'
import type { OverviewData, StreamRow } from '../reads.ts'
import type { ScreenRequest } from '../screen.ts'
import { ageText, agoText, foreignText, spanText, timeOf } from '../text.ts'
import { budgetChart } from './budget.ts'
import { runTable } from './runs.ts'
import { streamTable, streamTitle } from './streams.ts'
import { type PresentNumbers, weekSection } from './week.ts'

export async function showOverview({ reads, project, frame }: ScreenRequest): Promise<ConsolePage> {
  const [data, week] = await Promise.all([
    reads.overview(project),
    // The rest is there all the same.
    reads.week(project).catch(errorText),
  ])
  const link = (name: string, page: string) => html`<a href="${addressOf(frame, page)}">${name}</a>`
  const decisions = decisionSentences(data, frame)
  const states = healthSentences(data, frame)
  const urgent = [...decisions, ...states].filter(isUrgent)
  const calm = states.filter((sentence) => !isUrgent(sentence))
  const isWell = !states.some(isUrgent)
  const isFine = states.every(({ kind }) => kind === 'fine')
  const health = html`${sentences(auditSentences(data), frame)}
${section('Streams', streamTable(data.streams, frame), link('Details and gaps', 'streams'))}
${data.budget.bars.length > 0 ? section('Request budget', budgetChart(data.budget, frame), link('Budget', 'budget')) : nothing}
${section('Last runs', runTable(data.runs, frame), link('All runs', 'runs'))}`
  const content = html`${livePart('urgent', section('To decide', sentences(urgent.length === 0 ? [nothingToDecide] : urgent, frame)))}
${livePart('week', weekSection(week, presentNumbers(data, frame), frame))}
<details class="fold" ${attribute('open', !isWell)}><summary
  ${attribute('data-live-part', 'summary')}>${icon(isFine ? 'fine' : 'note', frame)}
  ${isWell ? calm.map(({ text }) => html`${text} `) : 'Streams, budget and runs'}</summary>
${livePart('health', health)}</details>`
  return { title: 'Overview', section: 'Overview', content, isLive: true }
}

const nothingToDecide: Sentence = { kind: 'fine', text: html`Nothing waits for a decision.` }

function isUrgent({ kind }: Sentence): boolean {
  return kind === 'act' || kind === 'wrong'
}

export function overviewSentences(data: OverviewData, frame: ProjectFrame): Sentence[] {
  const waiting = waitingSentence(data, frame)
  return [
    ...decisionSentences(data, frame),
    ...healthSentences(data, frame),
    ...auditSentences(data),
    waiting,
  ]
}

function decisionSentences(data: OverviewData, frame: ProjectFrame): Sentence[] {
  return [...writebackSentences(data, frame), ...pauseSentences(data, frame)]
}

/** How current and how complete the data is. */
function healthSentences(data: OverviewData, frame: ProjectFrame): Sentence[] {
  return [
    ...workerSentences(data, frame),
    ...streamSentences(data, frame),
    gapSentence(data, frame),
  ]
}

/** What is open at this moment, who waits, and for how long. */
function presentNumbers(data: OverviewData, frame: ProjectFrame): PresentNumbers {
  const { count, isDerived } = data.waiting
  const shown = (number: number) => (isDerived || number > 0 ? formatCount(number) : '–')
  const unknown = isDerived ? null : html`known after the next sync`
  const longest = html`the longest for ${waitingFor(data, frame).replaceAll(' ', '\u00a0')}`
  return {
    open: { count: shown(data.open), more: unknown },
    waiting: { count: shown(count), more: count === 0 ? unknown : longest },
  }
}

function waitingFor({ waiting: { since } }: OverviewData, { now }: ProjectFrame): string {
  return since === null ? '' : ageText(now - Date.parse(since))
}

function writebackSentences(data: OverviewData, frame: ProjectFrame): Sentence[] {
  const { draft = 0, uncertain = 0 } = data.writebacks
  const address = addressOf(frame, 'writebacks')
  const found: Sentence[] = []
  if (draft > 0) {
    const text = html`<b>${formatCount(draft)}</b> ${noun(draft, 'draft')}
      ${draft === 1 ? 'waits' : 'wait'} for an approver.`
    found.push({ kind: 'act', text, link: { to: address, label: 'Review' } })
  }
  if (uncertain > 0) {
    const text = html`<b>${formatCount(uncertain)}</b> ${noun(uncertain, 'write-back')} may or may
      not have arrived. Until a person decides, what was queued after it for the same conversation
      or visitor waits.`
    found.push({
      kind: 'act',
      text,
      link: { to: withQuery(address, { status: 'uncertain' }), label: 'Decide' },
    })
  }
  return found
}

function pauseSentences(
  { paused, held, moved, sending, failures }: OverviewData,
  frame: ProjectFrame,
): Sentence[] {
  const { now } = frame
  const found: Sentence[] = []
  if (moved !== null)
    found.push({
      kind: 'act',
      text: html`Nothing is read or sent here any more: ${foreignText(moved)}`,
    })
  if (paused !== null) {
    const text = html`The service denies the key, so nothing is read or sent for another
      <b>${spanText(Date.parse(paused.until) - now)}</b>: ${foreignText(paused.why)}`
    found.push({ kind: 'act', text })
  }
  if (held?.resumeBy === '--restored') {
    const text = html`No write-back has been sent since ${timeOf(held.since, frame)}:
      ${foreignText(held.why)}. Run <code>deskmirror writeback resume --restored</code>.`
    found.push({ kind: 'act', text })
  }
  found.push(...holdingSentences(sending, frame))
  // What failed of a sync is said of its streams.
  const failing = failures.filter((failure) => failure.job !== 'sync')
  for (const { job, since, reason } of failing.slice(0, namedJobs)) {
    const text = html`The job <b>${job.replaceAll('_', ' ')}</b> has been failing for
      ${ageText(now - Date.parse(since))}: ${foreignText(reason)}`
    found.push({ kind: 'wrong', text })
  }
  const more = failing.length - namedJobs
  if (more > 0) {
    const text = html`${pluralize(more, 'more job')} ${more === 1 ? 'fails' : 'fail'}:
      <code>deskmirror status</code> names all.`
    found.push({ kind: 'wrong', text })
  }
  return found
}

const namedJobs = 3

/** Without a worker nothing is late: nobody promised to read it. */
function workerSentences(
  { workers, streams }: OverviewData,
  { now, isReadOnly }: ProjectFrame,
): Sentence[] {
  if (workers.length > 0) return []
  const newest = streams.reduce(
    (last, { syncedAt }) => (syncedAt !== null && syncedAt > last ? syncedAt : last),
    '',
  )
  const age =
    newest === ''
      ? ', and nothing has been read yet'
      : `: the mirror is as it was ${agoText(newest, now)}`
  if (isReadOnly)
    return [{ kind: 'note', text: html`This warehouse is only looked at here${age}.` }]
  return [
    {
      kind: 'act',
      text: html`<b>No worker runs</b>${age}. <code>deskmirror start</code> keeps it current.`,
    },
  ]
}

function streamSentences({ streams }: OverviewData, frame: ProjectFrame): Sentence[] {
  const inState = (state: StreamState) =>
    streams.filter((row) => streamStateOf(row, frame.now) === state)
  const link = { to: addressOf(frame, 'streams'), label: 'Streams' }
  const late = inState('late')
  const failing = inState('failing')
  const skipped = inState('skipped')
  const fresh = inState('fresh')
  const found: Sentence[] = []
  if (skipped.length > 0)
    found.push({ kind: 'act', text: html`The key may not read <b>${listed(skipped)}</b>.`, link })
  if (failing.length > 0)
    found.push({
      kind: 'wrong',
      link,
      text: html`<b>${pluralize(failing.length, 'stream')} cannot be read</b>: ${listed(failing)}.`,
    })
  if (late.length > 0)
    found.push({
      kind: 'wrong',
      link,
      text: html`<b>${pluralize(late.length, 'stream')} of ${streams.length}
        ${late.length === 1 ? 'is' : 'are'} late</b>: ${listed(late)}.`,
    })
  const [oldest] = fresh.toSorted((a, b) => ((a.syncedAt ?? '') < (b.syncedAt ?? '') ? -1 : 1))
  if (oldest !== undefined && late.length === 0 && failing.length === 0)
    found.push({
      kind: 'fine',
      text: html`<b>${freshText(fresh.length, streams.length)}</b>. The oldest,
        ${streamTitle(oldest.stream)}, was read ${agoText(oldest.syncedAt, frame.now)}
        (${oldest.schedule ?? 'no schedule'}).`,
    })
  return found
}

function freshText(fresh: number, all: number): string {
  if (fresh === all && all > 1) return `All ${all} streams are fresh`
  return `${fresh} of ${pluralize(all, 'stream')} ${fresh === 1 ? 'is' : 'are'} fresh`
}

function gapSentence(data: OverviewData, frame: ProjectFrame): Sentence {
  const unread = data.streams.filter(({ syncedAt, skipped }) => syncedAt === null && !skipped)
  if (data.gaps === 0 && data.streams.every(({ syncedAt }) => syncedAt === null))
    return { kind: 'note', text: html`Nothing has been read yet.` }
  if (data.gaps === 0 && unread.length > 0)
    return { kind: 'note', text: html`Not read to the end yet: <b>${listed(unread)}</b>.` }
  if (data.gaps === 0) return { kind: 'fine', text: html`Nothing is known to be missing.` }
  const text = html`<b>${formatCount(data.gaps)} ${noun(data.gaps, 'gap')}</b>: known to be
    missing.`
  return { kind: 'wrong', text, link: { to: addressOf(frame, 'streams'), label: 'Gaps' } }
}

/** The nightly audits; the command `status` says what they rest on. */
function auditSentences({ audits }: OverviewData): Sentence[] {
  return audits.map(({ words, sampled, differing }) => ({
    kind: differing === 0 ? 'fine' : 'note',
    text: html`Audit: ${words}. Of ${formatCount(sampled)} that were read again,
      ${differing === 0 ? 'none' : formatCount(differing)} differed.`,
  }))
}

function waitingSentence(data: OverviewData, frame: ProjectFrame): Sentence {
  const { count, isDerived } = data.waiting
  if (!isDerived && count === 0)
    return { kind: 'clock', text: html`Who waits for an answer is known after the next sync.` }
  if (count === 0) return { kind: 'fine', text: html`Nobody waits for an answer.` }
  const text = html`<b>${formatCount(count)}</b> ${noun(count, 'conversation')}
    ${count === 1 ? 'waits' : 'wait'} for an answer, the longest for
    <b>${waitingFor(data, frame)}</b>.`
  return { kind: 'clock', text, link: { to: addressOf(frame, 'waiting'), label: 'Waiting' } }
}

function listed(rows: readonly StreamRow[]): string {
  return new Intl.ListFormat('en-GB').format(rows.map(({ stream }) => streamTitle(stream)))
}

function noun(count: number, word: string): string {
  return count === 1 ? word : `${word}s`
}
