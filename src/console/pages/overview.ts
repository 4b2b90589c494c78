/** The overview of a project, and that of all: each fact once, with its number beside the word. */

import { path, withQuery } from '../../values/address.ts'
import { formatCount, pluralize } from '../../values/format.ts'
import { attribute, type Html, html, nothing } from '../../values/html.ts'
import { live, type Sentence, section, sentences } from '../blocks.ts'
import { countLimit, type OverviewData, type StreamRow, type StreamState } from '../core/data.ts'
import type { Page, ProjectFrame } from '../page.ts'
import { foreignText, roughly } from '../text.ts'
import { budgetChart, budgetLegend } from './budget.ts'
import { runTable } from './runs.ts'
import { stateOf, streamTable, streamTitle } from './streams.ts'

/** The overview of a project: first what a person must do, then what is wrong and what is fine, then the numbers. */
export function overviewPage(data: OverviewData, frame: ProjectFrame): Page {
  const { project } = frame
  const link = (name: string, address: string) => html`<a href="${path`/console/p/${project}` + address}">${name}</a>`
  const hasBudget = data.budget.bars.length > 0
  const content = html`<div ${attribute('data-live-shape', overviewShape(data, frame))} ${attribute('data-live-about', 'overview')}>${sentences(overviewSentences(data, frame), frame)}</div>
<p class="newer" ${attribute('data-live-newer', true)} ${attribute('hidden', true)}>Something has changed. <a href="${path`/console/p/${project}`}">Show it</a></p>
${hasBudget ? section('Request budget', html`${budgetLegend}${budgetChart(data.budget, frame)}`, link('Budget', '/budget')) : nothing}
${section('Streams', streamTable(data.streams, frame), link('Details and gaps', '/streams'))}
${section('Last runs', runTable(data.runs, frame), link('All runs', '/runs'))}`
  return { title: 'Overview', section: 'Overview', content, isLive: true }
}

/** `worst`: the sentence of the project that matters most. */
type ProjectRow = { readonly name: string; readonly data: OverviewData; readonly frame: ProjectFrame }

/** One line for each project: its most serious sentence. */
export function projectsPage(rows: readonly ProjectRow[]): Page {
  const parts = rows.map(({ name, data, frame }) => {
    const list = overviewSentences(data, frame).toSorted((a, b) => severity(a.kind) - severity(b.kind))
    const link = { to: path`/console/p/${name}`, label: 'Open' }
    return list
      .slice(0, 1)
      .map(({ kind, text }) => ({ sentence: { kind, text: html`<b><bdi>${name}</bdi></b>: ${text}`, link }, frame }))
  })
  const [first] = parts.flat()
  const content =
    first === undefined
      ? html`<p class="empty">No project has been mirrored into this warehouse.</p>`
      : sentences(
          parts.flat().map(({ sentence }) => sentence),
          first.frame,
        )
  return { title: 'Projects', section: 'Projects', content }
}

const severities: readonly string[] = ['act', 'wrong', 'clock', 'fine', 'note']
function severity(kind: string): number {
  return severities.indexOf(kind)
}

export function overviewSentences(data: OverviewData, frame: ProjectFrame): Sentence[] {
  const texts = liveTexts(data, frame.now)
  const number = (name: keyof ReturnType<typeof liveTexts>) => live(name, texts[name])
  return [
    ...writebackSentences(data, frame, number),
    ...pauseSentences(data, frame),
    ...workerSentences(data, frame),
    ...streamSentences(data, frame),
    gapSentence(data, frame),
    ...auditSentences(data),
    waitingSentence(data, frame, number),
  ]
}

/** The numbers that change while the page is open. */
export function liveTexts({ writebacks, heldLanes, gaps, waiting, streams }: OverviewData, now: number) {
  const ages = streams.flatMap(({ syncedAt }) => (syncedAt === null ? [] : [now - Date.parse(syncedAt)]))
  return {
    drafts: formatCount(writebacks.draft ?? 0),
    uncertain: formatCount(writebacks.uncertain ?? 0),
    held: formatCount(heldLanes),
    gaps: countText(gaps),
    waiting: countText(waiting.count),
    waitingFor: waiting.since === null ? '' : roughly(now - Date.parse(waiting.since)),
    oldestRead: ages.length === 0 ? 'never' : roughly(Math.max(...ages)),
  }
}

/** Which sentences there are: if this changes, the page is to be loaded anew. */
export function overviewShape(data: OverviewData, frame: ProjectFrame): string {
  return overviewSentences(data, frame)
    .map(({ kind, link }) => `${kind}${link?.label ?? ''}`)
    .join()
}

function countText(count: number): string {
  return count > countLimit ? `more than ${formatCount(countLimit)}` : formatCount(count)
}

type LiveNumber = (name: keyof ReturnType<typeof liveTexts>) => Html

function writebackSentences(
  { writebacks, heldLanes }: OverviewData,
  frame: ProjectFrame,
  number: LiveNumber,
): Sentence[] {
  const listOf = (status: string) => withQuery(path`/console/p/${frame.project}/writebacks`, { status })
  const found: Sentence[] = []
  const { draft = 0, uncertain = 0 } = writebacks
  if (draft > 0)
    found.push({
      kind: 'act',
      text: html`<b>${number('drafts')}</b> ${noun(draft, 'write-back')} ${draft === 1 ? 'waits' : 'wait'} for approval.`,
      link: { to: path`/console/p/${frame.project}/writebacks`, label: 'Review' },
    })
  if (uncertain > 0)
    found.push({
      kind: 'act',
      text: html`<b>${number('uncertain')}</b> ${noun(uncertain, 'write-back')} may or may not have arrived. Until a person decides, ${number('held')} ${noun(heldLanes, 'conversation')} ${heldLanes === 1 ? 'waits' : 'wait'}.`,
      link: { to: listOf('uncertain'), label: 'Decide' },
    })
  return found
}

function pauseSentences({ paused, held, failures }: OverviewData, frame: ProjectFrame): Sentence[] {
  const others = failures.filter(({ job }) => job !== 'pass')
  return [
    ...(paused === null
      ? []
      : [
          {
            kind: 'act' as const,
            text: html`The service denies the key, so nothing is read or sent for another <b>${roughly(Date.parse(paused.until) - frame.now)}</b>: ${foreignText(paused.why)}`,
          },
        ]),
    ...(held === null
      ? []
      : [
          {
            kind: 'act' as const,
            text: html`No write-back is sent since ${held.since}: ${foreignText(held.why)}. Run <code>deskmirror writeback resume --restored</code>.`,
          },
        ]),
    ...others.slice(0, 3).map(({ job, since, reason }) => ({
      kind: 'wrong' as const,
      text: html`<b>${job.replaceAll('_', ' ')}</b> has failed for ${roughly(frame.now - Date.parse(since))}: ${foreignText(reason)}`,
    })),
  ]
}

/** Without a worker nothing is late: nobody promised to read it. */
function workerSentences({ workers, streams }: OverviewData, frame: ProjectFrame): Sentence[] {
  if (workers > 0) return []
  const newest = streams.reduce((last, { syncedAt }) => (syncedAt !== null && syncedAt > last ? syncedAt : last), '')
  const age =
    newest === ''
      ? 'and nothing has been read yet'
      : `the mirror is as it was ${roughly(frame.now - Date.parse(newest))} ago`
  const text = frame.isReadOnly
    ? html`This warehouse is only looked at here: ${age}.`
    : html`<b>No worker runs</b>: ${age}. <code>deskmirror start</code> keeps it current.`
  return [{ kind: frame.isReadOnly ? 'note' : 'act', text }]
}

function streamSentences({ streams }: OverviewData, frame: ProjectFrame): Sentence[] {
  const inState = (state: StreamState) => streams.filter((row) => stateOf(row, frame) === state)
  const link = { to: path`/console/p/${frame.project}/streams`, label: 'Streams' }
  const [late, failing, skipped, fresh] = [inState('late'), inState('failing'), inState('skipped'), inState('fresh')]
  const found: Sentence[] = []
  if (skipped.length > 0) found.push({ kind: 'act', text: html`The key may not read <b>${listed(skipped)}</b>.`, link })
  if (failing.length > 0)
    found.push({
      kind: 'wrong',
      text: html`<b>${pluralize(failing.length, 'stream')} cannot be read</b>: ${listed(failing)}.`,
      link,
    })
  if (late.length > 0)
    found.push({
      kind: 'wrong',
      text: html`<b>${pluralize(late.length, 'stream')} of ${streams.length} ${late.length === 1 ? 'is' : 'are'} late</b>: ${listed(late)}.`,
      link,
    })
  const [oldest] = fresh.toSorted((a, b) => ((a.syncedAt ?? '') < (b.syncedAt ?? '') ? -1 : 1))
  if (oldest !== undefined && late.length === 0 && failing.length === 0)
    found.push({
      kind: 'fine',
      text: html`<b>${fresh.length === streams.length ? `All ${fresh.length}` : `${fresh.length} of ${streams.length}`} streams are fresh</b>. The oldest, ${streamTitle(oldest.stream)}, was read ${roughly(frame.now - Date.parse(oldest.syncedAt ?? ''))} ago (${oldest.schedule ?? 'no schedule'}).`,
    })
  return found
}

function gapSentence({ gaps }: OverviewData, { project }: ProjectFrame): Sentence {
  if (gaps === 0) return { kind: 'fine', text: html`Nothing is known to be missing.` }
  const link = { to: path`/console/p/${project}/streams`, label: 'Gaps' }
  return {
    kind: 'wrong',
    text: html`<b>${live('gaps', countText(gaps))} ${noun(gaps, 'gap')}</b>: known to be missing.`,
    link,
  }
}

/** The nightly audits; the command `status` says what they rest on. */
function auditSentences({ audits }: OverviewData): Sentence[] {
  return audits.map(({ words, sampled, differing }) => ({
    kind: differing === 0 ? 'fine' : 'note',
    text: html`Audit: ${words}. ${formatCount(sampled)} were read again, ${differing === 0 ? 'none' : formatCount(differing)} differed.`,
  }))
}

function waitingSentence({ waiting }: OverviewData, { project }: ProjectFrame, number: LiveNumber): Sentence {
  if (waiting.count === 0) return { kind: 'fine', text: html`Nobody waits for an answer.` }
  const text = html`<b>${number('waiting')}</b> ${noun(waiting.count, 'conversation')} ${waiting.count === 1 ? 'waits' : 'wait'} for an answer, the longest for <b>${number('waitingFor')}</b>.`
  return { kind: 'clock', text, link: { to: path`/console/p/${project}/waiting`, label: 'Waiting' } }
}

function listed(rows: readonly StreamRow[]): string {
  return new Intl.ListFormat('en-GB').format(rows.map(({ stream }) => streamTitle(stream)))
}

function noun(count: number, word: string): string {
  return count === 1 ? word : `${word}s`
}
