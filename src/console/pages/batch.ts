/** One batch: what it would do, how far it is, and what can be decided about it. */
import { readBatch } from '../../app/batches.ts'
import { findOpenGrace } from '../../app/outbox.ts'
import { reviewOutcomes } from '../../outbox/core/review.ts'
import { describeDeviation, outcomeLabels } from '../../outbox/core/review-labels.ts'
import type { BatchReport, DecisionName, ReviewOutcome } from '../../outbox/outbox.ts'
import { withQuery } from '../../values/address.ts'
import { formatCount, pluralize } from '../../values/format.ts'
import { attribute, type Html, html, nothing } from '../../values/html.ts'
import {
  addressOf,
  choices,
  linkTo,
  live,
  newerNotice,
  older,
  type Sentence,
  section,
  sentences,
  table,
} from '../blocks.ts'
import { offeredForBatch } from '../core/permissions.ts'
import type { Page, ProjectFrame } from '../layout.ts'
import type { ReviewedRow } from '../reviews.ts'
import { digitsOf, type ScreenRequest, visibleTo } from '../screen.ts'
import { ago, by, foreignText, shortened, spanText } from '../text.ts'
import { batchStateOf, batchWords, countsText, decisionButtons, statusWords } from '../writeback-blocks.ts'
import { entryTable, listEntries, reviewedTable, rowsPerPage, statusChoices, statusNamed } from './writebacks.ts'

export async function showBatch(request: ScreenRequest): Promise<Page | null> {
  const { project, frame } = request
  const found = await readBatchData(request)
  if (found === null) return null
  const offered = offeredForBatch(found.report, found.undoUntil, { ...frame, approveOwn: project.approveOwn })
  const data = visibleTo(frame, found)
  const { batch } = data.report
  const content = html`<p>${batchStateOf(batch.state, frame)} · ${describeBatch(data, frame)}</p>
${batch.note === null ? nothing : html`<p>${foreignText(batch.note)}</p>`}
<div ${attribute('data-live-shape', batchShape(data.report))} ${attribute('data-live-about', `batch ${batch.id}`)}>${sentences(batchSentences(data, frame), frame)}</div>
${newerNotice(addressOf(frame, 'batches', batch.id))}
${progress(data, frame)}
${decisionButtons(offered, { project: frame.project, about: { batch: batch.id } })}
${rows(data, offered, frame)}
${reasons(data, frame)}
${deviations(data, frame)}`
  return { title: batch.title ?? `Batch ${batch.id}`, section: 'Write-backs', content, isLive: batch.state !== 'done' }
}

type BatchData = NonNullable<Awaited<ReturnType<typeof readBatchData>>>

/**
 * `undoUntil`: until when an approval of rows of it can be taken back; null = it cannot. `review` null: it is still being
 * read, or nothing of it waits. `reviewed`: a page of the rows that have not left; `entries`: of those with the status
 * that was asked for.
 */
export async function readBatchData(
  request: Pick<ScreenRequest, 'warehouse' | 'outbox' | 'project' | 'id' | 'query' | 'signal'> & {
    readonly reads: Pick<ScreenRequest['reads'], 'reviews'>
  },
) {
  const { reads, warehouse, outbox, project, query } = request
  if ((await outbox.findBatch(request.id)) === null) return null
  const report = await readBatch(outbox, warehouse, project, request.id)
  const { id, counts } = report.batch
  const isWaiting = (counts.draft ?? 0) + (counts.queued ?? 0) > 0
  const version = `${report.approval?.digest ?? ''} ${JSON.stringify(counts)}`
  const review = isWaiting ? await reads.reviews.ofBatch(project, id, version, request.signal) : null
  const [queued] = isWaiting ? await outbox.list({ batch: id, statuses: ['queued'] }, 1) : []
  const status = statusNamed(query('status'))
  const would = reviewOutcomes.find((outcome) => outcome === query('would')) ?? null
  const undoUntil = await findOpenGrace(warehouse, queued)
  const common = { report, undoUntil, review, status, would }
  if (status === null) return { ...common, entries: [], ...(await pageOfReview(request, review?.rows ?? [], would)) }
  const listed = await listEntries(outbox, { batch: id, statuses: [status] }, query('after'))
  return { ...common, reviewed: [], ...listed }
}

/** The rows with what they would send, which the review itself does not keep. */
async function pageOfReview(
  { outbox, query }: Pick<ScreenRequest, 'outbox' | 'query'>,
  all: readonly ReviewedRow[],
  would: ReviewOutcome | null,
) {
  const from = Number(digitsOf(query('after')) ?? 0)
  const rows = all.filter((row) => row.position > from && (would === null || row.outcome === would))
  const page = rows.slice(0, rowsPerPage)
  const ids = page.map(({ id }) => id)
  const entries = ids.length === 0 ? [] : await outbox.list({ ids }, ids.length)
  const payloads = new Map(entries.map(({ id, payload }) => [id, payload]))
  return {
    reviewed: page.map((row) => ({ ...row, payload: payloads.get(row.id) ?? {} })),
    next: rows.length > page.length ? String(page.at(-1)?.position ?? '') : null,
  }
}

function describeBatch({ report: { batch, revertedBy } }: BatchData, frame: ProjectFrame): Html {
  const link = (id: string) => linkTo(frame, 'batches', id, foreignText(id))
  const parts = [
    html`${pluralize(batch.rows, 'row')}${batch.source === null ? nothing : html` from ${foreignText(batch.source)}`}, queued ${ago(batch.createdAt, frame)}${by(batch.createdBy)}`,
    batch.approvedAt === null ? nothing : html` · approved ${ago(batch.approvedAt, frame)}${by(batch.approvedBy)}`,
    batch.finishedAt === null ? nothing : html` · finished ${ago(batch.finishedAt, frame)}`,
    batch.reverts === null ? nothing : html` · takes back ${link(batch.reverts)}`,
    revertedBy === null ? nothing : html` · taken back by ${link(revertedBy)}`,
    html` · <span class="faint"><bdi>${batch.id}</bdi></span>`,
  ]
  return html`${parts}`
}

function batchSentences({ report, undoUntil, review }: BatchData, frame: ProjectFrame): Sentence[] {
  const { batch, estimate, revertible } = report
  const { draft = 0, uncertain = 0, queued = 0 } = batch.counts
  const isStopped = batch.stoppedAt !== null
  const found: Sentence[] = []
  const add = (kind: Sentence['kind'], text: Html) => void found.push({ kind, text })
  if (isStopped)
    add(
      'act',
      html`<b>Stopped</b> ${ago(batch.stoppedAt, frame)}${by(batch.stoppedBy)}: nothing of it is sent until a person goes on or cancels it.`,
    )
  if (isStopped && draft > 0 && revertible > 0)
    add(
      'note',
      html`“Take back as drafts” concerns the <b>${formatCount(revertible)}</b> that have arrived. What arrives after “Go on” can be taken back then.`,
    )
  const hasTime = !frame.isReadOnly && estimate.takesMs > 0
  const takes = hasTime ? ` Once it is approved it takes about ${spanText(estimate.takesMs)}.` : ''
  if (!isStopped && draft > 0)
    add(
      'act',
      html`<b>${formatCount(draft)}</b> of ${pluralize(batch.rows, 'row')} ${draft === 1 ? 'waits' : 'wait'} for approval.${takes}`,
    )
  if (undoUntil !== null)
    add(
      'clock',
      html`<b>Nothing leaves before ${timeWithSeconds(undoUntil, frame)}</b>: until then the approval can be taken back.`,
    )
  if (uncertain > 0) {
    const to = withQuery(addressOf(frame, 'batches', batch.id), { status: 'uncertain' })
    const text = html`<b>${formatCount(uncertain)}</b> may or may not have arrived. A person has to decide.`
    found.push({ kind: 'act', text, link: { to, label: 'Uncertain' } })
  }
  if (estimate.restsUntil !== null && undoUntil === null)
    add(
      'wrong',
      html`Rests until ${timeWithSeconds(estimate.restsUntil, frame)}: ${foreignText(estimate.restsBecause)}`,
    )
  if (queued > 0 && !estimate.worker && !frame.isReadOnly)
    add('act', html`No worker runs, so nothing of it is sent. <code>deskmirror start</code> sends it.`)
  const against = review === null ? 0 : review.counts.stands_against + review.counts.not_known
  if (against > 0)
    add(
      'note',
      html`${pluralize(against, 'row')} would not go out, or the mirror does not know. Every row is checked again just before it is sent.`,
    )
  return found
}

function timeWithSeconds(at: string, { timeZone }: ProjectFrame): Html {
  const text = new Date(at).toLocaleTimeString('sv-SE', { timeZone, hourCycle: 'h23' })
  return html`<time datetime="${at}" title="${at}">${text}</time>`
}

function progress({ report }: BatchData, frame: ProjectFrame): Html {
  const { batch } = report
  const texts = batchLive(report, frame)
  const max = String(Math.max(1, batch.rows))
  return html`<div class="progress"><progress max="${max}" value="${String(texts.settled)}" aria-label="Settled rows" ${attribute('data-live-value', `batch ${batch.id} settled`)}></progress>
<p>${live(`batch ${batch.id} progress`, texts.progress)}</p>
<p class="faint">${live(`batch ${batch.id} counts`, countsText(batch.counts))}</p></div>`
}

/** The rows that have not left with what they would do, or those with one status. */
function rows(data: BatchData, offered: readonly DecisionName[], frame: ProjectFrame): Html {
  const { report, review, reviewed, entries, next, would, status } = data
  const { id, counts, rows: total } = report.batch
  const address = addressOf(frame, 'batches', id)
  const waiting = (counts.draft ?? 0) + (counts.queued ?? 0)
  const outcomes = reviewOutcomes.filter((outcome) => review !== null && review.counts[outcome] > 0)
  const byOutcome = outcomes.map((outcome) => ({
    label: `${outcomeLabels[outcome]} (${formatCount(review?.counts[outcome] ?? 0)})`,
    to: withQuery(address, { would: outcome }),
    isChosen: outcome === would,
  }))
  const open = { label: `Not sent (${formatCount(waiting)})`, to: address, isChosen: would === null && status === null }
  const byStatus = waiting === total ? [] : statusChoices(counts, status, address)
  const tabs = choices('Rows', [...(waiting > 0 ? [open] : []), ...byOutcome, ...byStatus])
  const more = older(next === null ? null : withQuery(address, { would, status, after: next }), 'Next rows')
  if (status !== null) return section('Rows', html`${tabs}${entryTable(entries, frame)}${more}`)
  if (waiting === 0) return section('Rows', tabs)
  if (review === null) {
    const note = html`<p class="empty">What its ${formatCount(waiting)} rows would do is still being read. <a href="${address}">Look again</a></p>`
    return section('Rows', html`${tabs}${note}`)
  }
  const { checked, differing, groups } = review
  const checks = html`; ${formatCount(checked)} checked with the service, ${formatCount(differing)} otherwise`
  const aside = html`<span class="faint">As the mirror shows it${checked === 0 ? nothing : checks}</span>`
  const lines = groups.map(({ outcome, text }) => html`<li>${outcomeLabels[outcome]}: ${text}</li>`)
  const list = reviewedTable(reviewed, { batch: id, would, offered }, frame)
  return section('Rows', html`${tabs}<ul class="groups">${lines}</ul>${list}${more}`, aside)
}

function reasons({ report }: BatchData, frame: ProjectFrame): Html {
  if (report.reasons.length === 0) return nothing
  const content = table(
    'Why rows did not succeed, the most frequent first',
    ['#Rows', 'Status', 'Why', 'For example'],
    report.reasons.map(({ status, reason, count, example }) => [
      count,
      statusWords[status].word,
      foreignText(reason),
      linkTo(frame, 'writebacks', example, 'one of them'),
    ]),
  )
  return section('Why', content)
}

/** Where rows did something else than a check with the service had shown. */
function deviations({ report: { checked } }: BatchData, frame: ProjectFrame): Html {
  if (checked.differing === 0) return nothing
  const content = table(
    'Rows that did something else than their check had shown',
    ['About', 'What differs'],
    checked.samples.map(({ writeback, deviation }) => [
      linkTo(frame, 'writebacks', writeback.id, foreignText(writeback.visitorName ?? writeback.id)),
      shortened(describeDeviation(deviation, writeback), 300),
    ]),
  )
  const count = `${formatCount(checked.differing)} of ${formatCount(checked.rows)}`
  return section(`${count} checked rows did something else`, content)
}

type LiveReport = Pick<BatchReport, 'batch' | 'estimate'>
type Zone = { readonly timeZone: string; readonly now: number }

/** What changes on the page while it is sent: `412 of 707 settled · 295 to go, in about 2 min 50 s, at 14:32` */
export function batchLive({ batch, estimate }: LiveReport, { timeZone, now }: Zone) {
  const { draft = 0, queued = 0, sending = 0, ...others } = batch.counts
  const settled = Object.values(others).reduce((sum, count) => sum + count, 0)
  const left = queued + sending
  const clock = new Date(now + estimate.takesMs).toLocaleTimeString('sv-SE', {
    ...{ timeZone, hourCycle: 'h23', hour: '2-digit', minute: '2-digit' },
  })
  const forecast = estimate.worker ? `, in about ${spanText(estimate.takesMs)}, at ${clock}` : ''
  const toGo = left === 0 || batch.state !== 'sending' ? '' : ` · ${formatCount(left)} to go${forecast}`
  return { settled, progress: `${formatCount(settled)} of ${formatCount(batch.rows)} settled${toGo}` }
}

/** If this changes, the page is to be loaded anew. */
export function batchShape({ batch, estimate }: LiveReport): string {
  const { state, stoppedAt, counts } = batch
  return [batchWords[state].word, stoppedAt, counts.draft, (counts.uncertain ?? 0) > 0, estimate.restsUntil].join()
}
