/**
 * One visitor: whether anyone was answered twice, every write-back to this person, conversations,
 * calls, visits, and a form to correct the name or the address.
 */

import type { NamedEntry } from '../../outbox/outbox.ts'
import { withQuery } from '../../values/address.ts'
import { formatCount, formatSeconds, pluralize } from '../../values/format.ts'
import { type Html, html, nothing } from '../../values/html.ts'
import { normalizeText } from '../../values/invisible.ts'
import type { ColumnRules } from '../../values/private-columns.ts'
import {
  addressOf,
  facts,
  linkTo,
  older,
  section,
  sentences,
  smallPrint,
  table,
} from '../blocks.ts'
import { digitsOf, rowsPerPage, toPage } from '../core/list-page.ts'
import { summarizeReplies } from '../core/reply-summary.ts'
import type { ConsolePage, ProjectFrame } from '../frame.ts'
import { countingNotice } from '../period-blocks.ts'
import { rulesOf, storedNote } from '../private-notes.ts'
import { type ProjectRequest, type ScreenRequest, visibleTo } from '../screen.ts'
import {
  beginOf,
  type ListPlace,
  pageOf,
  readShownEffects,
  readVisitor,
  readVisitorOf,
  type ShownEffect,
  type VisitorCall,
  type VisitorData,
  type VisitorList,
} from '../sql/visitor.ts'
import { by, foreignText, spanText, timeOf } from '../text.ts'
import { type CorrectionForm, correctionForm } from './correction-form.ts'
import { draftedNote, whyNoDraft } from './draft-form.ts'
import { sheetLink } from './sheet.ts'
import { entryCells } from './writebacks.ts'

/** Leads from a conversation to its visitor. */
export async function findVisitor({ db, id, frame }: ScreenRequest) {
  const visitor = await readVisitorOf(db, id)
  const [folder, known] = visitor === null ? ['conversations', id] : ['visitors', visitor]
  return { redirect: addressOf(frame, folder, known) }
}

/** Before its visitor is corrected, the service is asked for what it shows. */
export async function showVisitor(request: ScreenRequest): Promise<ConsolePage | null> {
  const { id, frame, query, readNow } = request
  if (query('correct') === null || readNow === null || whyNoDraft(frame) !== null)
    return visitorPage(request, null)
  const { why } = await readNow('visitors', id)
  return visitorPage(request, { source: { why }, given: null, problem: null })
}

/** To look at it, or to correct something. */
type VisitorRequest = ProjectRequest & Pick<ScreenRequest, 'id' | 'query'>

export async function visitorPage(
  request: VisitorRequest,
  correcting: Pick<CorrectionForm, 'source' | 'given' | 'problem'> | null,
): Promise<ConsolePage | null> {
  const { db, reads, project, frame, id, query } = request
  const place = { list: query('list'), after: query('after') }
  const read = await readVisitor(db, id, place)
  const [sent, calls] = await Promise.all([
    readSent(request, read.conversationIds),
    reads.callsOf(project, id),
  ])
  const isKnown = read.row !== null || read.conversationIds.length + sent.all.length > 0
  if (!isKnown && (calls ?? []).length === 0) return null
  const visitor = visibleTo(frame, read)
  const rules = rulesOf(project)
  const address = addressOf(frame, 'visitors', id)
  const rows = visibleTo(frame, sent.listed).map((entry, nth) =>
    sentRow(entry, hasWords(sent.listed[nth]), sent.effects.get(entry.id), visitor, frame),
  )
  const text = html`${sent.about}${sent.summary.text}`
  const mayCorrect = whyNoDraft(frame) === null && visitor.row?.deletedAt == null
  const form =
    correcting === null
      ? offerToCorrect(sent.all, request)
      : correctionForm({ ...correcting, visitor, rules }, frame)
  const writebacks = table(
    'Write-backs to this visitor, the newest first',
    columns,
    rows,
    nothingSent,
  )
  const next = older(sent.older === null ? null : withQuery(address, { before: sent.older }))
  const list = { frame, place, address }
  const content = html`${sentences([{ kind: sent.summary.kind, text }], frame)}
${presence(visitor)}${storedNote(project, ['visitors', 'visitor_activity', 'messages', 'calls'])}
${knownFields(visitor, rules, frame)}${mayCorrect ? form : nothing}
${section('Write-backs to this visitor', html`${writebacks}${next}`)}
${section('Conversations', conversations(visitor, list))}
${section('Calls', calls === null ? countingNotice(withQuery(address, place)) : callTable(calls, list))}
${section('Visits', visitTable(visitor, list))}
${section('Activity', activityTable(visitor, list))}`
  return { title: 'Visitor', section: 'Search', content }
}

const nothingSent = 'Nothing was sent or queued from here.'

function knownFields({ id, row, fields }: VisitorData, rules: ColumnRules, frame: ProjectFrame) {
  const stored = (field: 'name' | 'email') =>
    rules.actionOf('visitors', field) === 'block'
      ? html`<span class="faint">not stored</span>`
      : foreignText(row?.[field] ?? null)
  return facts([
    ['Name', stored('name')],
    ['E-mail', stored('email')],
    ['Id', foreignText(id)],
    ...fields.map(
      ({ name, value }) =>
        [name, isTime.test(value) ? timeOf(value, frame) : foreignText(value)] as const,
    ),
  ])
}

/** A link to the form, and where the draft is that was just made with it. */
function offerToCorrect(
  all: readonly NamedEntry[],
  { frame, id, query }: Pick<VisitorRequest, 'frame' | 'id' | 'query'>,
): Html {
  const key = query('drafted')
  const joined = key === null ? null : (all.find(({ ref }) => ref === key)?.batchId ?? null)
  const to = withQuery(addressOf(frame, 'visitors', id), { correct: 'yes' })
  return html`<div id="correct">${draftedNote(joined, 'nothing changes', frame)}<p class="actions"><a
    class="button" href="${to}#correct">Correct the name or the address…</a></p></div>`
}

const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/

function presence({ row }: VisitorData): Html {
  if (row === null)
    return html`<p class="problem">The mirror does not have this visitor, only rows that refer to it.</p>`
  return row.deletedAt === null
    ? nothing
    : html`<p class="problem">The service no longer has this visitor.</p>`
}

/** The sentence on top is about so many; on a page behind the first, about those that it lists. */
const summarized = 100

/** The newest write-backs, with what the mirror shows of them. */
async function readSent(
  { db, outbox, id, query }: VisitorRequest,
  conversations: readonly string[],
) {
  const before = digitsOf(query('before'))
  const target = [id, ...conversations]
  const most = before === null ? summarized : rowsPerPage
  const found = await outbox.listNewest(
    { target },
    most + 1,
    ...(before === null ? [] : [Number(before)]),
  )
  const { next } = toPage(found, rowsPerPage, ({ seq }) => seq)
  const all = await outbox.nameEntries(found.slice(0, most))
  const effects = await readShownEffects(db, all)
  const replies = all.filter(({ operation }) => operation === 'message')
  const inDoubt = await outbox.listInDoubt(replies.map((entry) => entry.id))
  const summary = summarizeReplies(
    replies.map((entry) => ({
      status: entry.status,
      conversation: entry.conversationId,
      words:
        typeof entry.payload.content === 'string' ? normalizeText(entry.payload.content) : null,
      isInDoubt: inDoubt.has(entry.id),
      shownTimes: effects.get(entry.id)?.times ?? 0,
    })),
  )
  const newest = found.length > most ? `Of the newest ${formatCount(most)} write-backs: ` : ''
  const about = before === null ? newest : 'Of the write-backs below: '
  return { all, listed: all.slice(0, rowsPerPage), effects, about, summary, older: next }
}

const columns = ['What', 'Asks for', 'Queued', 'Left', 'Status', 'What the mirror shows now']

/** The words of what has ended may have been deleted. */
function hasWords(entry: NamedEntry | undefined): boolean {
  return Object.keys(entry?.payload ?? {}).length > 0
}

function sentRow(
  entry: NamedEntry,
  isStored: boolean,
  effect: ShownEffect | undefined,
  visitor: VisitorData,
  frame: ProjectFrame,
): Html[] {
  const { approvedBy, attempts, sentAt, requestId } = entry
  const hasWhy = (entry.error ?? entry.reason) !== null
  return [
    entryCells.What(entry, frame),
    isStored ? entryCells['Asks for'](entry) : html`<span class="faint">not stored</span>`,
    html`${entryCells.Queued(entry, frame)}${approvedBy === null ? nothing : smallPrint(html`approved${by(approvedBy)}`)}`,
    attempts === 0
      ? foreignText(null)
      : html`${timeOf(sentAt, frame)}${attempts === 1 ? nothing : ` (${pluralize(attempts, 'attempt')})`}${requestId === null ? nothing : smallPrint(html`request ${foreignText(requestId)}`)}`,
    html`${entryCells.Status(entry, frame)}${hasWhy ? smallPrint(entryCells.Why(entry)) : nothing}`,
    effectOf(entry, effect, visitor, frame),
  ]
}

function effectOf(
  { operation, payload, messageId, status, attempts }: NamedEntry,
  effect: ShownEffect | undefined,
  { row }: VisitorData,
  frame: ProjectFrame,
): Html {
  if (attempts === 0 && status !== 'succeeded') return foreignText(null)
  if (operation === 'note') return html`<span class="faint">The service shows no notes.</span>`
  if (operation === 'visitor') {
    const fields = (['name', 'email'] as const).filter((field) => payload?.[field] !== undefined)
    return html`${fields.map((field) => html`${field}: ${foreignText(row?.[field] ?? null)} `)}`
  }
  if (operation === 'handled')
    return effect?.handled == null ? html`open` : html`handled ${timeOf(effect.handled, frame)}`
  const times = effect?.times ?? 0
  const words = times === 0 ? nothing : smallPrint(`${pluralize(times, 'message')} with this text`)
  if (messageId === null) return html`its message is unknown${words}`
  const message = html`message ${foreignText(messageId)}`
  if (effect?.at == null) return html`${message}, which is not mirrored${words}`
  return html`${message}, ${timeOf(effect.at, frame)}${effect.isDeleted ? ', deleted since' : ''}${words}`
}

/** What its lists are drawn with. */
type Lists = {
  readonly frame: ProjectFrame
  readonly place: ListPlace
  /** Of the page. */
  readonly address: string
}

/** A page of a list, of which `rows` has all, or one more than that. */
function listPage<Row>(
  list: VisitorList,
  rows: readonly Row[],
  { place, address }: Lists,
  draw: (rows: readonly Row[]) => Html,
): Html {
  const { rows: shown, next } = pageOf(list, rows, place)
  const to = next === null ? null : `${withQuery(address, { list, after: next })}#${list}`
  return html`<div id="${list}">${draw(shown)}${older(to)}</div>`
}

function conversations({ id: visitor, conversations: rows }: VisitorData, lists: Lists): Html {
  const { frame } = lists
  const sheet = rows.length === 0 ? nothing : sheetLink({ visitor }, frame)
  const list = listPage('conversations', rows, lists, (shown) =>
    table(
      'Conversations, the newest first',
      ['Last message', 'Status', 'Waits for', 'Last agent'],
      shown.map(({ id, lastAt, handled, deletedAt, waitingSince, agent }) => [
        linkTo(
          frame,
          'conversations',
          id,
          lastAt === null ? foreignText(id) : timeOf(lastAt, frame),
        ),
        deletedAt !== null ? 'deleted' : handled === null ? 'open' : 'handled',
        waitingSince === null ? '–' : spanText(frame.now - Date.parse(waitingSince)),
        foreignText(agent),
      ]),
      'There are no conversations.',
    ),
  )
  return html`${sheet}${list}`
}

function callTable(calls: readonly VisitorCall[], lists: Lists): Html {
  return listPage('calls', calls.slice(beginOf('calls', lists.place)), lists, (shown) =>
    table(
      'Calls, the newest first',
      ['When', '#Length', 'Direction', 'Outcome', 'Agent'],
      shown.map(({ id, startedAt, seconds, direction, outcome, agent }) => [
        startedAt === null ? foreignText(id) : timeOf(startedAt, lists.frame),
        seconds === null ? '–' : formatSeconds(seconds),
        ...[direction, outcome, agent].map(foreignText),
      ]),
      'No call is known to be of this visitor.',
    ),
  )
}

function visitTable({ visits }: VisitorData, lists: Lists): Html {
  return listPage('visits', visits, lists, (shown) =>
    table(
      'Visits, the newest first',
      ['Began', '#Length', '#Entries', 'First page', 'Last page'],
      shown.map(({ startedAt, seconds, entries, firstPage, lastPage }) => [
        timeOf(startedAt, lists.frame),
        // From the first entry to the last.
        entries === 1 ? '–' : formatSeconds(seconds),
        formatCount(entries),
        ...[firstPage, lastPage].map(foreignText),
      ]),
      'No visit is known.',
    ),
  )
}

function activityTable({ activity }: VisitorData, lists: Lists): Html {
  return listPage('activity', activity, lists, (shown) =>
    table(
      'Activity, the newest first',
      ['When', 'What'],
      shown.map(({ at, text }) => [timeOf(at, lists.frame), foreignText(text)]),
      'No activity is known.',
    ),
  )
}
