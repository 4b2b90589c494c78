/** One batch: what it would do, how far it is, and what can be decided about it. */

import { countOperations } from '../../outbox/core/batches.ts'
import { outcomeLabels } from '../../outbox/core/review/labels.ts'
import { reviewOutcomes } from '../../outbox/core/review/terms.ts'
import { formatCounts } from '../../outbox/core/state.ts'
import type { DecisionName, ReviewOutcome, StatusCounts } from '../../outbox/outbox.ts'
import { withQuery } from '../../values/address.ts'
import { formatCount, pluralize } from '../../values/format.ts'
import { attribute, type Html, html, nothing } from '../../values/html.ts'
import { errorText } from '../../values/user-error.ts'
import { batchProgress, batchSentences, readBatchReport, reviewAge } from '../batch-state.ts'
import {
  addressOf,
  choices,
  linkTo,
  livePart,
  newerNotice,
  older,
  section,
  sentences,
  table,
} from '../blocks.ts'
import { placeIn, rowsPerPage, toPage } from '../core/list-page.ts'
import { offeredForBatch } from '../core/permissions.ts'
import type { ConsolePage, ProjectFrame } from '../frame.ts'
import { type ReviewedRow, reviewedRows, reviewVersion } from '../reviews.ts'
import { type ScreenRequest, visibleTo } from '../screen.ts'
import { ago, by, foreignText } from '../text.ts'
import {
  batchStateOf,
  decisionButtons,
  groupList,
  operationsText,
  statusWords,
} from '../writeback-blocks.ts'
import { emptyNote } from './import.ts'
import { listEntries, queueTable, reviewedTable, statusChoices, statusNamed } from './writebacks.ts'

export async function showBatch(request: ScreenRequest): Promise<ConsolePage | null> {
  const { frame } = request
  const found = await readBatchData(request)
  if (found === null) return null
  const offered = offeredForBatch(found.report, found.undoUntil, frame)
  const data = visibleTo(frame, found)
  const { batch } = data.report
  const form = { project: frame.project, about: { batch: batch.id } }
  const content = html`<div ${attribute('data-live-offered', offered.join(' '))}>
${livePart(
  'state',
  html`<p>${batchStateOf(batch, frame)} ·
  ${describeBatch(data, frame)}</p>`,
)}
${batch.note === null ? nothing : html`<p>${foreignText(batch.note)}</p>`}
${emptyNote(placeIn(request.query('empty')))}${livePart('said', sentences(batchSentences(data, frame), frame))}
${livePart('progress', progress(data, frame))}
${livePart('actions', decisionButtons(offered, form))}
${rows(data, offered, frame)}
${livePart('why', html`${reasons(data, frame)}`)}</div>`
  return {
    title: batch.title ?? `Batch ${batch.id}`,
    section: 'Write-backs',
    content,
    isLive: true,
  }
}

type BatchData = NonNullable<Awaited<ReturnType<typeof readBatchData>>>

/**
 * `review` null: it is still being read, or nothing of it waits; a text: why it cannot be read.
 * `reviewed`: a page of the rows that have not left; `entries`: of those with the status that was
 * asked for. The address with `only=state`: no rows, as they stay on a page.
 */
export async function readBatchData(
  request: Pick<ScreenRequest, 'warehouse' | 'outbox' | 'project' | 'id' | 'query'> & {
    readonly reads: Pick<ScreenRequest['reads'], 'reviews'>
  },
) {
  const { reads, outbox, project, query } = request
  const batch = await outbox.findBatch(request.id)
  if (batch === null) return null
  const { id, counts } = batch
  const status = statusNamed(query('status'))
  const would = reviewOutcomes.find((outcome) => outcome === query('would')) ?? null
  const hasRows = query('only') !== 'state'
  const isReviewed = hasRows && status === null && countOpen(counts) > 0
  const version = reviewVersion(counts)
  const [found, review] = await Promise.all([
    readBatchReport(request, batch),
    isReviewed ? reads.reviews.ofBatch(project, id, version).catch(errorText) : null,
  ])
  const none = { ...found, status, would, hasRows, review, reviewed: [], entries: [], next: null }
  if (hasRows && status !== null)
    return {
      ...none,
      ...(await listEntries(outbox, { batch: id, statuses: [status] }, query('after'))),
    }
  if (review === null || typeof review === 'string') return none
  return { ...none, ...(await pageOfReview(request, review.rows, would)) }
}

/** Rows that have not left. */
function countOpen({ draft = 0, queued = 0 }: StatusCounts): number {
  return draft + queued
}

/** The rows with what they would send, which the review itself does not keep. */
async function pageOfReview(
  { outbox, query }: Pick<ScreenRequest, 'outbox' | 'query'>,
  reviewed: readonly ReviewedRow[],
  would: ReviewOutcome | null,
) {
  const from = placeIn(query('after'))
  const all = reviewed.filter(
    (row) => row.place > from && (would === null || row.outcome === would),
  )
  const { rows, next } = toPage(all, rowsPerPage, ({ place }) => place)
  const ids = rows.map(({ id }) => id)
  const entries = ids.length === 0 ? [] : await outbox.list({ ids }, ids.length)
  const stored = new Map(entries.map((entry) => [entry.id, entry]))
  return {
    next,
    reviewed: rows.flatMap((row) => {
      const entry = stored.get(row.id)
      if (entry === undefined) return []
      const { payload, foundBy, conversationId, visitorId } = entry
      return [{ ...row, payload, foundBy, conversationId, visitorId }]
    }),
  }
}

function describeBatch(
  { report: { batch, outcomes, revertedBy } }: BatchData,
  frame: ProjectFrame,
): Html {
  const link = (id: string) => linkTo(frame, 'batches', id, foreignText(id))
  const parts = [
    html`${operationsText(countOperations(outcomes)) || pluralize(batch.rows, 'write-back')}${batch.source === null || batch.reverts !== null ? nothing : html` from ${foreignText(batch.source)}`}, queued ${ago(batch.createdAt, frame)}${by(batch.createdBy)}`,
    batch.approvedAt === null
      ? nothing
      : html` · approved ${ago(batch.approvedAt, frame)}${by(batch.approvedBy)}`,
    batch.finishedAt === null ? nothing : html` · finished ${ago(batch.finishedAt, frame)}`,
    batch.reverts === null ? nothing : html` · takes back ${link(batch.reverts)}`,
    revertedBy === null ? nothing : html` · taken back by ${link(revertedBy)}`,
    html` · <span class="faint"><bdi>${batch.id}</bdi></span>`,
  ]
  return html`${parts}`
}

function progress(data: BatchData, frame: ProjectFrame): Html {
  const { batch } = data.report
  // Nothing of it has left, as the sentence above says.
  if (batch.state === 'draft') return nothing
  const { settled, text } = batchProgress(data, frame)
  const max = String(Math.max(1, batch.rows))
  return html`<div class="progress"><progress max="${max}" value="${String(settled)}"
    aria-label="Settled rows"></progress>
<p>${text}</p>
<p class="faint">${formatCounts(batch.counts)}</p></div>`
}

/** The rows that have not left with what they would do, or those with one status. */
function rows(data: BatchData, offered: readonly DecisionName[], frame: ProjectFrame): Html {
  const { report, status, would } = data
  const { id, counts, rows: total } = report.batch
  const address = addressOf(frame, 'batches', id)
  const waiting = countOpen(counts)
  const open = {
    label: `Not sent (${formatCount(waiting)})`,
    to: address,
    isChosen: status === null,
  }
  const byStatus = waiting === total ? [] : statusChoices(counts, status, address)
  const tabs = livePart('tabs', choices('Rows', [...(waiting > 0 ? [open] : []), ...byStatus]))
  return section(
    'Rows',
    html`${tabs}${newerNotice(withQuery(address, { status, would }))}${shownRows(data, offered, frame)}`,
  )
}

/**
 * Rows that are shown stay until the person asks for them again; a notice says when others would be
 * shown.
 */
function shownRows(data: BatchData, offered: readonly DecisionName[], frame: ProjectFrame): Html {
  const { report, review, reviewed, entries, next, would, status, hasRows } = data
  const { id, counts } = report.batch
  const address = addressOf(frame, 'batches', id)
  const more = older(
    next === null ? null : withQuery(address, { would, status, after: next }),
    'Next rows',
  )
  const waiting = countOpen(counts)
  const version = status === null ? String(waiting) : String(counts[status] ?? 0)
  const kept = (content: Html) => livePart('rows', content, version)
  if (status !== null) return kept(html`${queueTable(entries, frame)}${more}`)
  // Also in place of rows that a person reads: what they would do is over.
  if (waiting === 0)
    return livePart(
      'rows',
      html`<p class="empty">Nothing of it waits to be sent. Choose a status above to see its rows.</p>`,
    )
  if (!hasRows) return kept(nothing)
  if (review === null || typeof review === 'string') {
    const why =
      review === null ? 'is still being read' : html`cannot be read: ${foreignText(review)}`
    const text = html`What its ${pluralize(waiting, 'row')} would do ${why}.`
    return livePart('rows', html`<p class="empty">${text} <a href="${address}">Look again</a></p>`)
  }
  const outcomes = reviewOutcomes.filter((outcome) => review.counts[outcome] > 0)
  const most = Math.max(...(would === null ? outcomes : [would]).map((it) => review.counts[it]))
  const tabs = outcomes.map((outcome) => ({
    label: `${outcomeLabels[outcome]} (${formatCount(review.counts[outcome])})`,
    to: withQuery(address, { would: outcome === would ? null : outcome }),
    isChosen: outcome === would,
  }))
  const against = review.counts.stands_against + review.counts.not_known
  const note = html`<p>${pluralize(against, 'row')} would not be sent, or the mirror does not know.
    Every row is checked again just before it is sent.</p>`
  return kept(html`<p class="faint">What they would do, ${reviewAge(review, frame)}:</p>
${groupList(review.groups)}${against === 0 ? nothing : note}${outcomes.length < 2 ? nothing : choices('What rows would do', tabs)}
${reviewedTable(reviewed, { batch: id, would, offered }, frame)}${more}${most > reviewedRows ? notListed : nothing}`)
}

const notListed = html`<p class="faint">Of rows that would do the same, at most
  ${formatCount(reviewedRows)} are listed. What is decided is about all.</p>`

function reasons({ report }: BatchData, frame: ProjectFrame): Html {
  if (report.reasons.length === 0) return nothing
  const content = table(
    'Why rows have not succeeded, the most frequent first',
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
