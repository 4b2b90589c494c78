/** One conversation: who, how it stands, and its thread with what changed in between. */
import { operationTypes } from '../../outbox/core/writeback-request.ts'
import { withQuery } from '../../values/address.ts'
import { type Html, html, nothing } from '../../values/html.ts'
import { addressOf, facts, linkTo, older, section, table } from '../blocks.ts'
import type { Page, ProjectFrame } from '../page.ts'
import { type ScreenRequest, visibleTo } from '../screen.ts'
import { type ConversationData, readConversation } from '../sql/conversations.ts'
import { ago, exactStart, foreignText, timeOf } from '../text.ts'
import { statusOf } from '../writeback-words.ts'

export async function showConversation({ db, frame, id, query }: ScreenRequest): Promise<Page | null> {
  const data = visibleTo(frame, await readConversation(db, id, query('before')))
  if (data === null) return null
  const { visitorId, name, email, isComplete, deletedAt, writebacks } = data
  const address = addressOf(frame, 'conversations', data.id)
  const visitor =
    visitorId === null
      ? foreignText(null)
      : linkTo(frame, 'visitors', visitorId, foreignText(name ?? email ?? visitorId))
  const writebackTable = table(
    'Write-backs to this conversation, the newest first',
    ['What', 'Status'],
    writebacks.map((row) => [
      linkTo(frame, 'writebacks', row.id, operationTypes[row.operation].words[0]),
      statusOf(row.status, frame),
    ]),
  )
  const content = html`${deletedAt === null ? nothing : html`<p class="problem">The service no longer has this conversation.</p>`}
${facts([
  ['Visitor', visitor],
  ['E-mail', foreignText(email)],
  ['Status', data.handledAt === null ? 'open' : html`handled ${ago(data.handledAt, frame)}`],
  ['Waits for an answer since', timeOf(data.waitingSince, frame)],
  ['Assigned to', foreignText(data.agent)],
  ['Started', timeOf(data.createdAt, frame)],
  ['Origin', foreignText(data.origin)],
  ['Id', foreignText(data.id)],
])}
${isComplete === false ? html`<p class="problem">The service did not list all of its messages.</p>` : nothing}
${older(data.older === null ? null : withQuery(address, { before: data.older }), 'Older messages')}
${thread(data, frame)}
${writebacks.length === 0 ? nothing : section('Write-backs', writebackTable)}`
  return { title: 'Conversation', section: 'Search', content }
}

/** Changes that the messages themselves show. */
const shownByMessages: ReadonlySet<string> = new Set(['last_message_at', 'last_message_sender_type'])

/** Of all messages of a page: a browser, and the worker that makes the page, should not stall for who writes too much. */
const shownCharacters = 200_000

/** Messages and changes in the order in which they happened. `isMarked`: what a person should look at. */
export function thread(
  { messages, changes, older: hasOlder }: Pick<ConversationData, 'messages' | 'changes' | 'older'>,
  frame: ProjectFrame,
  isMarked: (text: string | null, at: string | null) => boolean = () => false,
): Html {
  const [first] = messages
  const total = messages.reduce((sum, { content }) => sum + (content?.length ?? 0), 0)
  const length = total <= shownCharacters ? total : Math.max(500, Math.floor(shownCharacters / messages.length))
  const shownChanges = changes.filter(
    ({ field, at }) => !shownByMessages.has(field) && (hasOlder === null || first?.at == null || at >= first.at),
  )
  const entries = [
    ...messages.map(({ role, name, sender, content, at, isDeleted }) => {
      const same = isMarked(content, at)
      const by = html`${same ? html`<b>The same words</b> · ` : nothing}${foreignText(name ?? sender)} · ${timeOf(at, frame)}${isDeleted ? ' · deleted' : ''}`
      const item = html`<li class="${role}${same ? ' marked' : ''}"><p class="by">${by}</p><p>${exactStart(content, length)}</p></li>\n`
      return { at: at ?? '', item }
    }),
    ...shownChanges.map(({ field, before, after, at }) => ({
      at,
      item: html`<li class="event"><p>${field.replaceAll('_', ' ')}: ${foreignText(before)} → ${foreignText(after)} · seen ${timeOf(at, frame)}</p></li>\n`,
    })),
  ]
  if (entries.length === 0) return html`<p class="empty">There are no messages.</p>`
  // The sort is stable: messages of the same second keep their order.
  const sorted = entries.toSorted((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))
  return html`<ol class="thread" aria-label="Messages">${sorted.map(({ item }) => item)}</ol>`
}
