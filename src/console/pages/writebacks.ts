/**
 * Write-backs: the batches, newest first, or all rows with one status; and rows that have not left,
 * of which some can be picked.
 */
import { writebackStatuses } from '../../../schema/operation-specs.ts'
import { readSendingFacts } from '../../app/batches.ts'
import { hasRole } from '../../config/people.ts'
import type { Cell } from '../../document/table.ts'
import { operationTypes, reviewActions } from '../../outbox/core/operations.ts'
import { describeRequest, outcomeLabels } from '../../outbox/core/review/labels.ts'
import { formatCounts } from '../../outbox/core/state.ts'
import type {
  DecisionName,
  NamedEntry,
  Outbox,
  OutboxFilter,
  ReviewOutcome,
  StatusCounts,
  WritebackStatus,
} from '../../outbox/outbox.ts'
import { withQuery } from '../../values/address.ts'
import { formatCount } from '../../values/format.ts'
import { attribute, type Html, html, nothing } from '../../values/html.ts'
import { sendingSentences } from '../batch-state.ts'
import {
  addressOf,
  type Choice,
  choices,
  linkTo,
  livePart,
  older,
  section,
  sentences,
  smallPrint,
  table,
  visitorLink,
} from '../blocks.ts'
import { placeIn, rowsPerPage, toPage } from '../core/list-page.ts'
import { draftRole, offeredForSending } from '../core/permissions.ts'
import type { ConsolePage, ProjectFrame } from '../frame.ts'
import type { ReviewedRow } from '../reviews.ts'
import { type ScreenRequest, visibleTo } from '../screen.ts'
import { ago, by, exactText, foreignText, shortened } from '../text.ts'
import {
  batchStateOf,
  decisionButtons,
  hiddenFields,
  rankOf,
  statusOf,
  statusWords,
} from '../writeback-blocks.ts'

export async function showWritebacks(request: ScreenRequest): Promise<ConsolePage> {
  const { outbox, frame, query } = request
  const status = statusNamed(query('status'))
  const address = addressOf(frame, 'writebacks')
  const all = { label: 'Batches', to: address, isChosen: status === null }
  const choice = choices('Status', [
    all,
    ...statusChoices(await outbox.countByStatus({}), status, address),
  ])
  const tabs = livePart('tabs', choice)
  if (status !== null)
    return {
      title: 'Write-backs',
      section: 'Write-backs',
      content: html`${tabs}${await rowsWith(status, request)}`,
    }
  const content = html`${tabs}${await batches(request)}`
  return { title: 'Write-backs', section: 'Write-backs', content, isLive: true }
}

export function statusNamed(text: string | null): WritebackStatus | null {
  return writebackStatuses.find((status) => status === text) ?? null
}

/** Of the statuses that rows have. */
export function statusChoices(
  counts: StatusCounts,
  chosen: WritebackStatus | null,
  address: string,
): Choice[] {
  const shown = writebackStatuses.filter((name) => (counts[name] ?? 0) > 0 || name === chosen)
  return shown.map((name) => ({
    label: `${statusWords[name].word} (${formatCount(counts[name] ?? 0)})`,
    to: withQuery(address, { status: name }),
    isChosen: name === chosen,
  }))
}

async function rowsWith(
  status: WritebackStatus,
  { outbox, frame, query }: ScreenRequest,
): Promise<Html> {
  const { entries, next } = visibleTo(
    frame,
    await listEntries(outbox, { statuses: [status] }, query('after')),
  )
  const to =
    next === null ? null : withQuery(addressOf(frame, 'writebacks'), { status, after: next })
  return html`<p class="faint">${statusWords[status].sentence}</p>${queueTable(entries, frame)}${older(to, 'Next')}`
}

async function batches({ outbox, warehouse, frame, query }: ScreenRequest): Promise<Html> {
  const before = query('before')
  // Not by `requireBatch`, which compares a wrong name with all others; an address has whole ones.
  const from = before === null ? undefined : ((await outbox.findBatch(before)) ?? undefined)
  const found = await outbox.listBatches(rowsPerPage + 1, from)
  const { rows, next } = toPage(found, rowsPerPage, ({ id }) => id)
  const list = table(
    'Batches, the newest first',
    ['Batch', 'State', '#Rows', 'Their statuses', 'Queued'],
    rows.map((batch) => [
      linkTo(frame, 'batches', batch.id, foreignText(batch.title ?? batch.id)),
      batchStateOf(batch, frame),
      batch.rows,
      formatCounts(batch.counts),
      html`${ago(batch.createdAt, frame)}${by(batch.createdBy)}`,
    ]),
    'No batch has been queued yet.',
  )
  const mayImport =
    frame.canDecide && frame.viewer !== null && hasRole(frame.viewer.role, draftRole)
  const importLink = html`<a class="button" href="${addressOf(frame, 'import')}">Import a file…</a>`
  const more = older(
    next === null ? null : withQuery(addressOf(frame, 'writebacks'), { before: next }),
  )
  const facts = await readSendingFacts(outbox, warehouse)
  const offered = offeredForSending(facts, frame)
  const buttons = decisionButtons(offered, { project: frame.project, about: {} })
  const aside = html`<div class="actions">${buttons}${mayImport ? importLink : nothing}</div>`
  const said = livePart('said', sentences(sendingSentences(facts, frame), frame))
  return html`${said}${livePart('batches', section('Batches', html`${list}${more}`, aside))}`
}

/** In the order of the queue. `after`: the `next` of the page before. */
export async function listEntries(outbox: Outbox, filter: OutboxFilter, after: string | null) {
  const entries = await outbox.list(filter, rowsPerPage + 1, placeIn(after))
  const { rows, next } = toPage(entries, rowsPerPage, ({ seq }) => seq)
  return { entries: await outbox.nameEntries(rows), next }
}

type EntryCell = (entry: NamedEntry, frame: ProjectFrame) => Html

/** Of a write-back, by the titles of the columns. */
export const entryCells = {
  What: ({ id, operation }, frame) =>
    linkTo(frame, 'writebacks', id, operationTypes[operation].words[0]),
  About: (entry, frame) => aboutCell({ ...entry, foundBy: null, lastWords: null }, frame),
  'Asks for': (entry) =>
    shortened(describeRequest({ ...entry, payload: entry.payload ?? {} }), 140),
  Queued: ({ createdAt, createdBy }, frame) => html`${ago(createdAt, frame)}${by(createdBy)}`,
  Status: ({ status }, frame) => statusOf(status, frame),
  Why: ({ error, reason }) => shortened(error ?? reason, 140),
} as const satisfies Readonly<Record<string, EntryCell>>

export function entryTable(
  caption: string,
  columns: readonly (keyof typeof entryCells)[],
  rows: readonly NamedEntry[],
  frame: ProjectFrame,
): Html {
  const cells = rows.map((entry) => columns.map((column) => entryCells[column](entry, frame)))
  return table(caption, columns, cells)
}

export function queueTable(rows: readonly NamedEntry[], frame: ProjectFrame): Html {
  const columns = ['What', 'About', 'Asks for', 'Status', 'Why'] as const
  return entryTable('Write-backs, in the order of the queue', columns, rows, frame)
}

type AboutEntry = Pick<
  NamedEntry,
  'conversationId' | 'visitorId' | 'visitorName' | 'foundBy' | 'lastWords'
>

/**
 * Where nobody has named the conversation, an approver judges whether it is the right one: by how
 * it was found, and by the last words of the visitor.
 */
export function aboutCell(
  { visitorName, foundBy, lastWords, ...target }: AboutEntry,
  frame: ProjectFrame,
): Html {
  const name = foreignText(visitorName ?? target.conversationId ?? target.visitorId)
  const found = foundBy === null ? nothing : smallPrint(html`found by ${foreignText(foundBy)}`)
  const words = lastWords === null ? nothing : smallPrint(html`“${shortened(lastWords, 80)}”`)
  return html`${visitorLink(frame, target, name)}${found}${words}`
}

/** `payload`: what it would send. */
type RowToPick = ReviewedRow & AboutEntry & Pick<NamedEntry, 'payload'>

type Picking = {
  readonly batch: string
  readonly would: ReviewOutcome | null
  readonly offered: readonly DecisionName[]
}

export function reviewedTable(
  rows: readonly RowToPick[],
  { batch, would, offered }: Picking,
  frame: ProjectFrame,
): Html {
  const decisions = (['approve', 'cancel'] as const).filter((decision) =>
    offered.includes(decision),
  )
  const hasPicks = decisions.length > 0 && rows.length > 0
  const pick = ({ id, position }: RowToPick) =>
    html`<input type="checkbox" name="id" value="${id}" aria-label="Row ${String(position)}">`
  const content = table(
    'Rows that have not been sent',
    [...(hasPicks ? ['Pick'] : []), '#Row', 'About', 'What is sent', 'Effect'],
    rows.map((row) => [...(hasPicks ? [pick(row)] : []), ...rowCells(row, frame)]),
    'No row would do this.',
  )
  if (!hasPicks) return content
  const confirm = addressOf(frame, 'confirm')
  const buttons = (which: string) =>
    decisions.map(
      (decision) =>
        html`<button type="submit" name="decision" value="${decision}"
          ${attribute('class', rankOf(decision))}>${decision === 'approve' ? 'Approve' : 'Cancel'}
          ${which}…</button>`,
    )
  // All that would do this, also those on other pages.
  const allOf =
    would === null
      ? nothing
      : html`<form class="bar" action="${confirm}">${hiddenFields({ batch, would })}<span>All that
        are “${outcomeLabels[would]}”:</span>${buttons('all of these')}</form>`
  return html`<form action="${confirm}" ${attribute('data-picks', true)}>${hiddenFields({ batch })}
${content}
<div class="bar"><span ${attribute('data-picked', true)} role="status">Picked
  rows:</span>${buttons('these')}</div></form>${allOf}`
}

function rowCells(row: RowToPick, frame: ProjectFrame): Cell[] {
  const { id, position, action, payload, marks } = row
  const named = html`<span class="faint">${reviewActions[action][0]}</span> `
  return [
    linkTo(frame, 'writebacks', id, String(position)),
    aboutCell(row, frame),
    html`${payload?.handled === undefined ? named : nothing}${payloadText(payload)}${marks.map((mark) => html`<br><strong>${foreignText(mark)}</strong>`)}`,
    effectText(row),
  ]
}

export function effectText({ outcome, effect }: Pick<ReviewedRow, 'outcome' | 'effect'>): Html {
  return html`<span class="outcome ${outcome}">${outcomeLabels[outcome]}</span>${effect === '' || effect === null ? nothing : html`<br>${shortened(effect, 200)}`}`
}

/** Exactly what is sent: each field, with characters that nobody could see named. */
export function payloadText(payload: Readonly<Record<string, unknown>> | null): Html {
  const fields = Object.entries(payload ?? {})
  if (payload === null || fields.length === 0) return foreignText(null)
  const { content, sender_name: sender, handled, ...others } = payload
  const shown = Object.entries(others).map(
    ([name, value]) =>
      html`<span class="field">${name}: ${value === null ? 'none' : exactText(String(value))}</span> `,
  )
  if (handled !== undefined) shown.unshift(html`${handled === false ? 'reopen' : 'mark handled'} `)
  if (typeof content !== 'string') return html`${shown}`
  const signed =
    typeof sender === 'string' ? html` <span class="faint">as ${exactText(sender)}</span>` : nothing
  return html`<q>${exactText(content)}</q>${signed}`
}
