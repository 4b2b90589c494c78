/** One conversation: who, how it stands, and its thread with what changed in between. */

import { table } from '../../document/table.ts'
import { operationTypes } from '../../outbox/core/writeback-request.ts'
import { path, withQuery } from '../../values/address.ts'
import { type Html, html, nothing } from '../../values/html.ts'
import { facts, older, section } from '../blocks.ts'
import type { ChangeRow, ConversationData, MessageRow } from '../core/data.ts'
import type { Page, ProjectFrame } from '../page.ts'
import { ago, exactStart, foreignText, timeOf } from '../text.ts'
import { statusOf } from '../writeback-words.ts'

export function conversationPage(data: ConversationData, frame: ProjectFrame): Page {
  const { id, visitorId, name, email, isComplete, deletedAt } = data
  const address = path`/console/p/${frame.project}/conversations/${id}`
  const visitor =
    visitorId === null
      ? foreignText(null)
      : html`<a href="${path`/console/p/${frame.project}/visitors/${visitorId}`}">${foreignText(name ?? email ?? visitorId)}</a>`
  const content = html`${deletedAt === null ? nothing : html`<p class="problem">The service no longer has this conversation.</p>`}
${facts([
  ['Visitor', visitor],
  ['E-mail', foreignText(email)],
  ['Status', data.handledAt === null ? 'open' : html`handled ${ago(data.handledAt, frame)}`],
  ['Waits for an answer since', timeOf(data.waitingSince, frame)],
  ['Assigned to', foreignText(data.agent)],
  ['Started', timeOf(data.createdAt, frame)],
  ['Origin', foreignText(data.origin)],
  ['Id', foreignText(id)],
])}
${isComplete === false ? html`<p class="problem">The service did not list all of its messages.</p>` : nothing}
${older(data.older === null ? null : withQuery(address, { before: data.older }), 'Older messages')}
${thread(data, frame)}
${data.writebacks.length === 0 ? nothing : section('Write-backs', writebackTable(data, frame))}`
  return { title: 'Conversation', section: 'Search', content }
}

type Entry = { readonly at: string; readonly html: Html }

/** Changes that the messages themselves show. */
const shownByMessages: ReadonlySet<string> = new Set(['last_message_at', 'last_message_sender_type'])

/** Of all messages of a page: a browser, and the worker that makes the page, should not stall for who writes too much. */
const shownCharacters = 200_000

/** Messages and changes in the order in which they happened. `isMarked`: what a person should look at. */
export function thread(
  { messages, changes, older: hasOlder }: ConversationData,
  frame: ProjectFrame,
  isMarked: (text: string | null, at: string | null) => boolean = () => false,
): Html {
  const [first] = messages
  const total = messages.reduce((sum, { content }) => sum + (content?.length ?? 0), 0)
  const length = total <= shownCharacters ? total : Math.max(500, Math.floor(shownCharacters / messages.length))
  const shownChanges = changes.filter(
    ({ field, at }) => !shownByMessages.has(field) && (hasOlder === null || first?.at == null || at >= first.at),
  )
  const entries: Entry[] = [
    ...messages.map((message) => ({
      at: message.at ?? '',
      html: messageItem(message, frame, { length, isMarked: isMarked(message.content, message.at) }),
    })),
    ...shownChanges.map((change) => ({ at: change.at, html: changeItem(change, frame) })),
  ]
  if (entries.length === 0) return html`<p class="empty">There are no messages.</p>`
  // The sort is stable: messages of the same second keep their order.
  const sorted = entries.toSorted((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))
  return html`<ol class="thread" aria-label="Messages">${sorted.map((entry) => entry.html)}</ol>`
}

/** `length`: characters of it that are shown. */
type Shown = { readonly length: number; readonly isMarked: boolean }

function messageItem(message: MessageRow, frame: ProjectFrame, { length, isMarked }: Shown): Html {
  const { role, name, sender, content, at, isDeleted } = message
  return html`<li class="${role}${isMarked ? ' marked' : ''}"><p class="by">${isMarked ? html`<b>The same words</b> · ` : nothing}${foreignText(name ?? sender)} · ${timeOf(at, frame)}${isDeleted ? ' · deleted' : ''}</p><p>${exactStart(content, length)}</p></li>\n`
}

function changeItem({ field, before, after, at }: ChangeRow, frame: ProjectFrame): Html {
  return html`<li class="event"><p>${field.replaceAll('_', ' ')}: ${foreignText(before)} → ${foreignText(after)} · seen ${timeOf(at, frame)}</p></li>\n`
}

function writebackTable({ writebacks }: ConversationData, frame: ProjectFrame): Html {
  return table({
    caption: 'Write-backs to this conversation, the newest first',
    columns: [{ title: 'What' }, { title: 'Status' }],
    rows: writebacks.map(({ id, operation, status }) => [
      html`<a href="${path`/console/p/${frame.project}/writebacks/${id}`}">${operationTypes[operation].words[0]}</a>`,
      statusOf(status, frame),
    ]),
    empty: 'There are none.',
  })
}
