/** Search for ids, people and words of messages, and one visitor. */

import { table } from '../../document/table.ts'
import { path, withQuery } from '../../values/address.ts'
import { formatCount } from '../../values/format.ts'
import { type Html, html, nothing } from '../../values/html.ts'
import { facts, older, section } from '../blocks.ts'
import type { ConversationRow, SearchData, VisitorData } from '../core/data.ts'
import type { Page, ProjectFrame } from '../page.ts'
import { foreignText, markedText, timeOf } from '../text.ts'

type SearchView = {
  readonly query: string
  /** Null: nothing has been asked for yet. */
  readonly data: Extract<SearchData, { kind: 'found' }> | null
  /** Whether the words of messages are indexed. */
  readonly isIndexed: boolean
  /** The words of the query, to mark. */
  readonly words: readonly string[]
}

export function searchPage({ query, data, words, isIndexed }: SearchView, frame: ProjectFrame): Page {
  const address = path`/console/p/${frame.project}/search`
  const form = html`<form action="${address}" class="stacked"><label>An id, a name, an e-mail address, or words of messages
<input type="search" name="q" value="${query}" autocomplete="off"></label><button type="submit">Search</button></form>`
  const off = html`<p class="faint">Words of messages are not searched here: the setting <code>search</code> is off. Ids, names and addresses are.</p>`
  const content = html`${form}${isIndexed ? nothing : off}${data === null ? nothing : results(data, query, words, address, frame)}`
  return { title: 'Search', section: 'Search', content }
}

function results(
  { people, conversations, next, missing }: NonNullable<SearchView['data']>,
  query: string,
  words: readonly string[],
  address: string,
  frame: ProjectFrame,
): Html {
  const persons = table({
    caption: 'Visitors',
    columns: [{ title: 'Name' }, { title: 'E-mail' }],
    rows: people.map(({ id, name, email }) => [
      html`<a href="${path`/console/p/${frame.project}/visitors/${id}`}">${foreignText(name ?? email ?? id)}</a>`,
      foreignText(email),
    ]),
    empty: 'No visitor has this name or address.',
  })
  const note =
    missing === 0
      ? nothing
      : html`<p class="faint">Up to ${formatCount(missing)} conversations have changed and can be searched after the next sync.</p>`
  return html`${people.length === 0 ? nothing : section('Visitors', persons)}
${section('Conversations', html`${conversationTable(conversations, words, frame)}${note}`)}
${older(next === null ? null : withQuery(address, { q: query, before: next }))}`
}

/** One visitor: what is known, conversations, activity. */
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
function conversationTable(rows: readonly ConversationRow[], words: readonly string[], frame: ProjectFrame): Html {
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
