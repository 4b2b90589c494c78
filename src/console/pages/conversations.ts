/** Pages for those who answer: who waits, one conversation with its thread, and search. */

import { parseSearch } from '../../analytics/core/search-words.ts'
import type { NamedEntry } from '../../outbox/outbox.ts'
import { createOutbox } from '../../outbox/sql/outbox.ts'
import { withQuery } from '../../values/address.ts'
import { formatCount, pluralize } from '../../values/format.ts'
import { type Html, html, nothing } from '../../values/html.ts'
import type { Ms } from '../../values/time.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import {
  addressOf,
  choices,
  conversationCell,
  cutNote,
  facts,
  linkTo,
  older,
  section,
  table,
} from '../blocks.ts'
import { digitsOf, rowsPerPage } from '../core/list-page.ts'
import type { ConsolePage, ProjectFrame } from '../frame.ts'
import { pendingNote, unfinishedNote } from '../period-blocks.ts'
import { rulesOf, searchNote, storedNote } from '../private-notes.ts'
import { type ScreenRequest, visibleTo } from '../screen.ts'
import {
  type ConversationData,
  type ConversationRow,
  readConversation,
  readWaiting,
} from '../sql/conversations.ts'
import { maxCounted, maxPeople, search } from '../sql/search.ts'
import {
  ago,
  exactStart,
  firstVisible,
  foreignText,
  markedText,
  shortened,
  spanText,
  timeOf,
} from '../text.ts'
import { beginDraft, draftForm, whyNoDraft } from './draft-form.ts'
import { parseWaiting, sheetLink } from './sheet.ts'
import { entryTable } from './writebacks.ts'

export async function showWaiting({ db, frame, query }: ScreenRequest): Promise<ConsolePage> {
  const { minAgeMs, isUnassigned } = parseWaiting(query)
  const filter = { minAgeMs, isUnassigned, after: query('after') }
  const waits = visibleTo(frame, await readWaiting(db, filter, frame.now))
  const { rows, buckets, next, difference, isKnown } = waits
  const asked = (age: Ms, unassigned: boolean) => ({
    older: age === 0 ? null : String(age / 1000),
    assigned: unassigned ? 'none' : null,
  })
  const address = (age: Ms, unassigned: boolean, from: string | null = null) =>
    withQuery(addressOf(frame, 'waiting'), { ...asked(age, unassigned), after: from })
  const ages = buckets.map(({ minAgeMs: age, count }) => ({
    label: `${age === 0 ? 'All' : `${spanText(age)} or longer`} (${formatCount(count)})`,
    to: address(age, isUnassigned),
    isChosen: age === minAgeMs,
  }))
  const assignments = [false, true].map((unassigned) => ({
    label: unassigned ? 'Assigned to nobody' : 'Any agent',
    to: address(minAgeMs, unassigned),
    isChosen: unassigned === isUnassigned,
  }))
  const waiting = table(
    'Conversations that wait for an answer, the longest first',
    [
      'Visitor',
      '#Waits for',
      'Last words',
      'Assigned',
      'Since',
      ...(difference === null ? [] : ['By the service']),
    ],
    rows.map(({ since, lastWords, agent, sinceByService, ...row }) => [
      conversationCell(frame, row),
      spanText(frame.now - Date.parse(since)),
      shortened(lastWords, 140),
      foreignText(agent),
      timeOf(since, frame),
      ...(difference === null
        ? []
        : [sinceByService === since ? 'the same' : waitingByService(sinceByService, frame)]),
    ]),
    isKnown
      ? 'Nobody waits for an answer.'
      : 'Who waits for an answer is known after the next sync.',
  )
  const content = html`${choices('Waits for', ages)}${choices('Assigned', assignments)}
${rows.length === 0 ? nothing : sheetLink(asked(minAgeMs, isUnassigned), frame)}${waiting}
<p class="faint">A visitor waits from the first message without an answer, until it is
  answered or the conversation is marked handled. ${difference ?? ''}</p>
${await unfinishedNote(db)}${older(next === null ? null : address(minAgeMs, isUnassigned, next), 'Shorter waits')}`
  return { title: 'Waiting', section: 'Waiting', content }
}

function waitingByService(since: string | null, frame: ProjectFrame): Html {
  return since === null ? html`not waiting` : timeOf(since, frame)
}

export async function showConversation({
  db,
  frame,
  id,
  query,
  project,
}: ScreenRequest): Promise<ConsolePage | null> {
  const data = await readConversation(db, id, digitsOf(query('before')))
  if (data === null) return null
  const writebacks = await listWritebacksTo(db, data)
  const key = query('drafted')
  const joined =
    key === null ? null : (writebacks.find(({ ref }) => ref?.startsWith(key))?.batchId ?? null)
  const begun = beginDraft(data, project, frame, query('text'))
  const page = conversationPage(data, writebacks, { ...begun, joined }, frame)
  const note = storedNote(project, ['conversations', 'messages', 'visitors'])
  return { ...page, content: html`${note}${page.content}` }
}

/** What is queued for the conversation and its visitor, or was sent; the newest first. */
export async function listWritebacksTo(
  db: ProjectDb,
  { id, visitorId }: Pick<ConversationData, 'id' | 'visitorId'>,
): Promise<readonly NamedEntry[]> {
  const outbox = createOutbox(db)
  const targets = [id, ...(visitorId === null ? [] : [visitorId])]
  const lists = await Promise.all(
    targets.map((target) => outbox.listNewest({ target }, rowsPerPage)),
  )
  const newest = lists.flat().toSorted((a, b) => b.seq - a.seq)
  return outbox.nameEntries(newest.slice(0, rowsPerPage))
}

export function conversationPage(
  read: ConversationData,
  queued: readonly NamedEntry[],
  writing: Parameters<typeof draftForm>[1],
  frame: ProjectFrame,
): ConsolePage {
  const { writebacks, ...data } = visibleTo(frame, { ...read, writebacks: queued })
  const { visitorId, name, email, waitingSince, sinceByService, isComplete, deletedAt } = data
  const address = addressOf(frame, 'conversations', data.id)
  const visitor =
    visitorId === null
      ? foreignText(null)
      : linkTo(frame, 'visitors', visitorId, foreignText(firstVisible(name, email, visitorId)))
  const writebackTable = entryTable(
    'Write-backs to this conversation and its visitor, the newest first',
    ['What', 'Asks for', 'Status', 'Queued'],
    writebacks,
    frame,
  )
  const isWritable = !frame.isReadOnly && deletedAt === null
  const toForm = isWritable && whyNoDraft(frame) === null
  const content = html`${
    deletedAt === null
      ? nothing
      : html`<p class="problem">The service no
    longer has this conversation.</p>`
  }
${facts([
  ['Visitor', visitor],
  ['E-mail', email && foreignText(email)],
  ['Status', data.handledAt === null ? 'open' : html`handled ${ago(data.handledAt, frame)}`],
  ['Waits for an answer since', waitingSince && timeOf(waitingSince, frame)],
  ...(sinceByService === waitingSince
    ? []
    : [['… by the service', waitingByService(sinceByService, frame)] as const]),
  ['Assigned to', data.agent && foreignText(data.agent)],
  ['Started', timeOf(data.createdAt, frame)],
  ['Origin', data.origin && foreignText(data.origin)],
  ['Id', foreignText(data.id)],
])}
${
  toForm && data.isNewest
    ? html`<p class="actions"><a class="button"
  href="#write">Write…</a></p>`
    : nothing
}
${isComplete === true ? nothing : html`<p class="problem">${isComplete === false ? notListed : notRead}</p>`}
${older(data.older === null ? null : withQuery(address, { before: data.older }), 'Older messages')}
${thread(data, frame)}
${data.isNewest ? nothing : older(address, toForm ? 'The newest messages, and writing' : 'The newest messages')}
${writebacks.length === 0 ? nothing : section('Write-backs', html`${writebackTable}${cutNote(writebacks.length, rowsPerPage)}`)}
${isWritable && data.isNewest ? draftForm(data, writing, frame) : nothing}`
  return { title: 'Conversation', section: 'Search', content }
}

const notListed = 'The service did not list all of its messages.'
const notRead = 'Not all of its messages have been read yet.'

/** Changes that the messages themselves show. */
const shownByMessages: ReadonlySet<string> = new Set([
  'last_message_at',
  'last_message_sender_type',
])

/**
 * Of all messages of a page: a browser, and the worker that makes the page, should not stall for
 * who writes too much.
 */
const shownCharacters = 200_000

/** Why a person should look at a message; null: no more than at others. */
export type MarkOf = (message: ConversationData['messages'][number]) => string | null

/** Messages and changes in the order in which they happened. */
export function thread(
  { messages, changes, older: hasOlder }: Pick<ConversationData, 'messages' | 'changes' | 'older'>,
  frame: ProjectFrame,
  markOf: MarkOf = () => null,
): Html {
  const [first] = messages
  const total = messages.reduce((sum, { content }) => sum + (content?.length ?? 0), 0)
  const length =
    total <= shownCharacters ? total : Math.max(500, Math.floor(shownCharacters / messages.length))
  const shownChanges = changes.filter(
    ({ field, at }) =>
      !shownByMessages.has(field) && (hasOlder === null || first?.at == null || at >= first.at),
  )
  const eventOf = (what: Html, at: string | null) =>
    html`<li class="event"><p>${what} · ${timeOf(at, frame)}</p></li>\n`
  const changedText = (field: string, value: string | null) =>
    /_(at|since)$/.test(field) ? timeOf(value, frame) : foreignText(value)
  const entries = [
    ...messages.map((message) => {
      const { id, role, name, sender, content, at, isDeleted } = message
      const mark = markOf(message)
      const marked = mark === null ? nothing : html`<b>${mark}</b> · message ${foreignText(id)} · `
      const head = html`${marked}${foreignText(firstVisible(name, sender))} ·
        ${timeOf(at, frame)}${isDeleted ? ' · deleted' : ''}`
      const named = firstVisible(name) === null ? nothing : html` · ${foreignText(name)}`
      const item =
        role === 'event'
          ? eventOf(html`${marked}${foreignText(content)}${named}`, at)
          : html`<li class="${role}${mark === null ? '' : ' marked'}"><p
            class="by">${head}</p><p>${exactStart(content, length)}</p></li>\n`
      return { at: at ?? '', item }
    }),
    ...shownChanges.map(({ field, before, after, at }) => ({
      at,
      item: eventOf(
        html`${field.replaceAll('_', ' ')}: ${changedText(field, before)} →
          ${changedText(field, after)}`,
        at,
      ),
    })),
  ]
  if (entries.length === 0) return html`<p class="empty">No message is known.</p>`
  // The sort is stable: messages of the same second keep their order.
  const sorted = entries.toSorted((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))
  return html`<ol class="thread" aria-label="Messages">${sorted.map(({ item }) => item)}</ol>`
}

export async function showSearch(
  request: ScreenRequest,
): Promise<ConsolePage | { readonly redirect: string }> {
  const { db, project, frame, query } = request
  const text = query('q')
  const found = text === null ? null : await search(db, text, query('before'), rulesOf(project))
  if (found !== null && found.kind !== 'found')
    return { redirect: addressOf(frame, `${found.kind}s`, found.id) }
  // Whether a word is found says that it is there, so who may not read messages finds things by
  // their ids only.
  const nobody =
    frame.viewer?.hidesMessages === true
      ? { people: [], conversations: [], next: null, total: 0 }
      : {}
  const form = html`<div class="period"><form action="${addressOf(frame, 'search')}"><label>An id or
    its beginning, a name, an e-mail address, or words of messages
<input type="search" name="q" value="${text}" autocomplete="off"></label><button
  type="submit">Search</button></form></div>`
  const off = html`<p class="faint">Words of messages are not searched here: the setting
    <code>search</code> is off. Ids, names and addresses are.</p>`
  const content = html`${form}${project.search ? nothing : off}${searchNote(project)}${found === null ? nothing : results({ ...found, ...nobody }, text ?? '', frame)}`
  return { title: 'Search', section: 'Search', content }
}

type Found = Extract<Awaited<ReturnType<typeof search>>, { kind: 'found' }>

function results(
  { ids, people, conversations, next, missing, total }: Found,
  query: string,
  frame: ProjectFrame,
): Html {
  const persons = table(
    'Visitors',
    ['Name', 'E-mail'],
    people
      .slice(0, maxPeople)
      .map(({ id, name, email }) => [
        linkTo(frame, 'visitors', id, foreignText(firstVisible(name, email, id))),
        foreignText(email),
      ]),
  )
  const begun = table(
    'Ids that begin so',
    ['Id', 'Of'],
    ids.map(({ folder, id }) => [linkTo(frame, folder, id, foreignText(id)), folder]),
  )
  const note = html`<p class="faint">${pendingNote(missing)}</p>`
  const found =
    people.length > maxPeople
      ? `More than ${maxPeople} visitors found; ${maxPeople} are shown. Write more of the name or address.`
      : `${pluralize(people.length, 'visitor')} found.`
  const count =
    total === 0
      ? nothing
      : html`<p>${total > maxCounted ? `More than ${formatCount(maxCounted)} conversations` : pluralize(total, 'conversation')}
    found.</p>`
  return html`${ids.length === 0 ? nothing : section('Ids', begun)}${people.length === 0 ? nothing : section('Visitors', html`<p>${found}</p>${persons}`)}
${section('Conversations', html`${count}${conversations.length === 0 ? nothing : sheetLink({ q: query }, frame)}${conversationTable(conversations, parseSearch(query).words, frame)}${missing === 0 ? nothing : note}`)}
${older(next === null ? null : withQuery(addressOf(frame, 'search'), { q: query, before: next }))}`
}

/** `words`: to mark. */
function conversationTable(
  rows: readonly ConversationRow[],
  words: readonly string[],
  frame: ProjectFrame,
): Html {
  return table(
    'Conversations, the newest first',
    ['Visitor', 'Last message', 'Status', 'Words'],
    rows.map(({ lastAt, handled, words: found, ...row }) => [
      conversationCell(frame, row),
      timeOf(lastAt, frame),
      handled === null ? 'open' : 'handled',
      markedText(found, words),
    ]),
    'No message has these words.',
  )
}
