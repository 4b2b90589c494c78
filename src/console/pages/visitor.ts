/** One visitor: what is known, conversations, activity. */
import type { ConversationRow, VisitorData } from '../../core/console/data.ts'
import { path } from '../../core/html/address.ts'
import { type Html, html, nothing } from '../../core/html/html.ts'
import { facts, section } from '../blocks.ts'
import type { Page, ProjectFrame } from '../page.ts'
import { table } from '../table.ts'
import { foreignText, markedText } from '../text.ts'
import { timeOf } from '../time.ts'

export function visitorPage(
  { id, name, email, deletedAt, fields, conversations, activity }: VisitorData,
  frame: ProjectFrame,
): Page {
  const rows = [
    ['Name', foreignText(name)],
    ['E-mail', foreignText(email)],
    ['Id', foreignText(id)],
    ...fields.map(({ name: field, value }) => [field, foreignText(value)] as const),
  ] as const
  const content = html`${deletedAt === null ? nothing : html`<p class="problem">The service no longer has this visitor.</p>`}
${facts(rows)}
${section('Conversations', conversationTable(conversations, [], frame))}
${section(
  'Activity',
  table({
    caption: 'Activity, the newest first',
    columns: [{ title: 'When' }, { title: 'What' }],
    rows: activity.map(({ at, text }) => [timeOf(at, frame), foreignText(text)]),
    empty: 'No activity is known.',
  }),
)}`
  return { title: 'Visitor', section: 'Search', content }
}

/** `words`: to mark. */
export function conversationTable(
  rows: readonly ConversationRow[],
  words: readonly string[],
  frame: ProjectFrame,
): Html {
  return table({
    caption: 'Conversations, the newest first',
    columns: [{ title: 'Last message' }, { title: 'Visitor' }, { title: 'Status' }, { title: 'Words' }],
    rows: rows.map(({ id, name, lastAt, isOpen, words: found }) => [
      html`<a href="${path`/console/p/${frame.project}/conversations/${id}`}">${lastAt === null ? foreignText(id) : timeOf(lastAt, frame)}</a>`,
      foreignText(name),
      isOpen ? 'open' : 'handled',
      markedText(found, words),
    ]),
    empty: 'There are no conversations.',
  })
}
