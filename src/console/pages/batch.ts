/** One batch: what it would do, how far it is, and what can be decided about it. */

import { table } from '../../document/table.ts'
import type { BatchReport } from '../../outbox/core/batches.ts'
import type { DecisionName } from '../../outbox/core/decisions.ts'
import { type ReviewOutcome, reviewOutcomes } from '../../outbox/core/review.ts'
import { describeDeviation, outcomeLabels } from '../../outbox/core/review-labels.ts'
import { type StatusCounts, type WritebackStatus, writebackStatuses } from '../../outbox/core/state.ts'
import { path, withQuery } from '../../values/address.ts'
import { formatCount, pluralize } from '../../values/format.ts'
import { attribute, type Html, html, nothing } from '../../values/html.ts'
import { choices, live, older, type Sentence, section, sentences } from '../blocks.ts'
import type { BatchData } from '../core/writeback-data.ts'
import { decisionButtons } from '../decision-forms.ts'
import type { Page, ProjectFrame } from '../page.ts'
import { ago, foreignText, shortened, spanText } from '../text.ts'
import { batchStateOf, batchWord, statusWords } from '../writeback-words.ts'
import { reviewedTable } from './reviewed-rows.ts'
import { countsText, entryTable } from './writebacks.ts'

export type BatchView = {
  readonly data: BatchData
  readonly offered: readonly DecisionName[]
  readonly would: ReviewOutcome | null
  readonly status: WritebackStatus | null
}

export function batchPage(view: BatchView, frame: ProjectFrame): Page {
  const { data, offered } = view
  const { batch } = data.report
  const form = { project: frame.project, about: { batch: batch.id } }
  const content = html`<p>${batchStateOf(batch.state, frame)} · ${describeBatch(data, frame)}</p>
${batch.note === null ? nothing : html`<p>${foreignText(batch.note)}</p>`}
<div ${attribute('data-live-shape', batchShape(data.report))} ${attribute('data-live-about', `batch ${batch.id}`)}>${sentences(batchSentences(data, frame), frame)}</div>
<p class="newer" ${attribute('data-live-newer', true)} ${attribute('hidden', true)}>Something has changed. <a href="${path`/console/p/${frame.project}/batches/${batch.id}`}">Show it</a></p>
${progress(data, frame)}
${decisionButtons(offered, form)}
${rows(view, frame)}
${reasons(data, frame)}
${deviations(data, frame)}`
  return { title: batch.title ?? `Batch ${batch.id}`, section: 'Write-backs', content, isLive: batch.state !== 'done' }
}

function describeBatch({ report: { batch, revertedBy } }: BatchData, frame: ProjectFrame): Html {
  const link = (id: string) => html`<a href="${path`/console/p/${frame.project}/batches/${id}`}"><bdi>${id}</bdi></a>`
  return html`${pluralize(batch.rows, 'row')}${batch.source === null ? nothing : html` from ${foreignText(batch.source)}`}, queued ${ago(batch.createdAt, frame)}${by(batch.createdBy)}${
    batch.approvedAt === null ? nothing : html` · approved ${ago(batch.approvedAt, frame)}${by(batch.approvedBy)}`
  }${batch.finishedAt === null ? nothing : html` · finished ${ago(batch.finishedAt, frame)}`}${
    batch.reverts === null ? nothing : html` · takes back ${link(batch.reverts)}`
  }${revertedBy === null ? nothing : html` · taken back by ${link(revertedBy)}`} · <span class="faint"><bdi>${batch.id}</bdi></span>`
}

function by(person: string | null): Html {
  return person === null ? nothing : html` by ${foreignText(person)}`
}

function batchSentences({ report, undoUntil, review }: BatchData, frame: ProjectFrame): Sentence[] {
  const { batch, estimate, revertible } = report
  const { draft = 0, uncertain = 0, queued = 0 } = batch.counts
  const found: Sentence[] = []
  if (batch.stoppedAt !== null)
    found.push({
      kind: 'act',
      text: html`<b>Stopped</b> ${ago(batch.stoppedAt, frame)}${by(batch.stoppedBy)}: nothing of it is sent until a person goes on or cancels it.`,
    })
  if (batch.stoppedAt !== null && draft > 0 && revertible > 0)
    found.push({
      kind: 'note',
      text: html`“Take back as drafts” concerns the <b>${formatCount(revertible)}</b> that have arrived. What arrives after “Go on” can be taken back then.`,
    })
  if (batch.stoppedAt === null && draft > 0)
    found.push({
      kind: 'act',
      text: html`<b>${formatCount(draft)}</b> of ${pluralize(batch.rows, 'row')} ${draft === 1 ? 'waits' : 'wait'} for approval.${takes(estimate.takesMs, frame)}`,
    })
  if (undoUntil !== null)
    found.push({
      kind: 'clock',
      text: html`<b>Nothing leaves before ${timeWithSeconds(undoUntil, frame)}</b>: until then the approval can be taken back.`,
    })
  if (uncertain > 0)
    found.push({
      kind: 'act',
      text: html`<b>${formatCount(uncertain)}</b> may or may not have arrived. A person has to decide.`,
      link: {
        to: withQuery(path`/console/p/${frame.project}/batches/${batch.id}`, { status: 'uncertain' }),
        label: 'Uncertain',
      },
    })
  if (estimate.restsUntil !== null && undoUntil === null)
    found.push({
      kind: 'wrong',
      text: html`Rests until ${timeWithSeconds(estimate.restsUntil, frame)}: ${foreignText(estimate.restsBecause)}`,
    })
  if (queued > 0 && !estimate.worker && !frame.isReadOnly)
    found.push({
      kind: 'act',
      text: html`No worker runs, so nothing of it is sent. <code>deskmirror start</code> sends it.`,
    })
  const against = review === null ? 0 : review.counts.stands_against + review.counts.not_known
  if (against > 0)
    found.push({
      kind: 'note',
      text: html`${pluralize(against, 'row')} would not go out, or the mirror does not know. Every row is checked again just before it is sent.`,
    })
  return found
}

function takes(ms: number, { isReadOnly }: ProjectFrame): string {
  return isReadOnly || ms === 0 ? '' : ` Once it is approved it takes about ${spanText(ms)}.`
}

function timeWithSeconds(at: string, { timeZone }: ProjectFrame): Html {
  const text = new Date(at).toLocaleTimeString('sv-SE', { timeZone, hourCycle: 'h23' })
  return html`<time datetime="${at}" title="${at}">${text}</time>`
}

function progress({ report }: BatchData, frame: ProjectFrame): Html {
  const { batch } = report
  const texts = batchLive(report, frame)
  const max = String(Math.max(1, batch.rows))
  return html`<div class="progress"><progress max="${max}" value="${String(settledOf(batch.counts))}" aria-label="Settled rows" ${attribute('data-live-value', `batch ${batch.id} settled`)}></progress>
<p>${live(`batch ${batch.id} progress`, texts.progress)}</p>
<p class="faint">${live(`batch ${batch.id} counts`, countsText(batch.counts))}</p></div>`
}

/** The rows that have not left with what they would do, or those with one status. */
function rows({ data, offered, would, status }: BatchView, frame: ProjectFrame): Html {
  const { report, review, reviewed, entries, next } = data
  const { id, counts, rows: total } = report.batch
  const address = path`/console/p/${frame.project}/batches/${id}`
  const byOutcome =
    review === null
      ? []
      : reviewOutcomes
          .filter((outcome) => review.counts[outcome] > 0)
          .map((outcome) => ({
            label: `${outcomeLabels[outcome]} (${formatCount(review.counts[outcome])})`,
            to: withQuery(address, { would: outcome }),
            isChosen: outcome === would,
          }))
  const byStatus = writebackStatuses
    .filter((name) => (counts[name] ?? 0) > 0)
    .map((name) => ({
      label: `${statusWords[name].word} (${formatCount(counts[name] ?? 0)})`,
      to: withQuery(address, { status: name }),
      isChosen: name === status,
    }))
  const waiting = (counts.draft ?? 0) + (counts.queued ?? 0)
  const open = { label: `Not sent (${formatCount(waiting)})`, to: address, isChosen: would === null && status === null }
  const tabs = choices('Rows', [...(waiting > 0 ? [open] : []), ...byOutcome, ...(waiting === total ? [] : byStatus)])
  const more = older(next === null ? null : withQuery(address, { would, status, after: next }), 'Next rows')
  if (status !== null) return section('Rows', html`${tabs}${entryTable(entries, frame)}${more}`)
  if (waiting === 0) return section('Rows', tabs)
  if (review === null)
    return section(
      'Rows',
      html`${tabs}<p class="empty">What its ${formatCount(waiting)} rows would do is still being read. <a href="${address}">Look again</a></p>`,
    )
  const aside = html`<span class="faint">As the mirror shows it${review.checked === 0 ? nothing : html`; ${formatCount(review.checked)} checked with the service, ${formatCount(review.differing)} otherwise`}</span>`
  const groups = html`<ul class="groups">${review.groups.map(({ outcome, text }) => html`<li>${outcomeLabels[outcome]}: ${text}</li>`)}</ul>`
  return section(
    'Rows',
    html`${tabs}${groups}${reviewedTable({ batch: id, rows: reviewed, would, offered }, frame)}${more}`,
    aside,
  )
}

function reasons({ report }: BatchData, frame: ProjectFrame): Html {
  if (report.reasons.length === 0) return nothing
  const content = table({
    caption: 'Why rows did not succeed, the most frequent first',
    columns: [{ title: 'Rows', isNumber: true }, { title: 'Status' }, { title: 'Why' }, { title: 'For example' }],
    rows: report.reasons.map(({ status, reason, count, example }) => [
      count,
      statusWords[status].word,
      foreignText(reason),
      html`<a href="${path`/console/p/${frame.project}/writebacks/${example}`}">one of them</a>`,
    ]),
    empty: '',
  })
  return section('Why', content)
}

/** Where rows did something else than a check with the service had shown. */
function deviations({ report: { checked } }: BatchData, frame: ProjectFrame): Html {
  if (checked.differing === 0) return nothing
  const content = table({
    caption: 'Rows that did something else than their check had shown',
    columns: [{ title: 'About' }, { title: 'What differs' }],
    rows: checked.samples.map(({ writeback, deviation }) => [
      html`<a href="${path`/console/p/${frame.project}/writebacks/${writeback.id}`}">${foreignText(writeback.visitorName ?? writeback.id)}</a>`,
      shortened(describeDeviation(deviation, writeback), 300),
    ]),
    empty: '',
  })
  return section(
    `${formatCount(checked.differing)} of ${formatCount(checked.rows)} checked rows did something else`,
    content,
  )
}

/** What changes on the page of a batch while it is sent. */
type Zone = { readonly timeZone: string; readonly now: number }

function settledOf({ draft = 0, queued = 0, sending = 0, ...counts }: StatusCounts): number {
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
