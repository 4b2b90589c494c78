/** Search for ids, people and words of messages, and one visitor. */
import { parseSearch } from '../../analytics/core/search-words.ts'
import { withQuery } from '../../values/address.ts'
import { formatCount } from '../../values/format.ts'
import { type Html, html, nothing } from '../../values/html.ts'
import { addressOf, facts, linkTo, older, section, table } from '../blocks.ts'
import type { Page, ProjectFrame } from '../page.ts'
import { type ScreenRequest, visibleTo } from '../screen.ts'
import { type ConversationRow, readVisitor } from '../sql/conversations.ts'
import { search } from '../sql/search.ts'
import { foreignText, markedText, timeOf } from '../text.ts'

export async function showSearch(request: ScreenRequest): Promise<Page | { readonly redirect: string }> {
  const { db, project, frame, query } = request
  const text = query('q')
  const found = text === null ? null : await search(db, text, query('before'))
  if (found !== null && found.kind !== 'found') return { redirect: addressOf(frame, `${found.kind}s`, found.id) }
  // Whether a word is found says that it is there, so who may not read messages finds things by their ids only.
  const nobody = frame.viewer?.hidesMessages === true ? { people: [], conversations: [], next: null } : {}
  const form = html`<form action="${addressOf(frame, 'search')}" class="stacked"><label>An id, a name, an e-mail address, or words of messages
<input type="search" name="q" value="${text}" autocomplete="off"></label><button type="submit">Search</button></form>`
  const off = html`<p class="faint">Words of messages are not searched here: the setting <code>search</code> is off. Ids, names and addresses are.</p>`
  const content = html`${form}${project.search ? nothing : off}${found === null ? nothing : results({ ...found, ...nobody }, text ?? '', frame)}`
  return { title: 'Search', section: 'Search', content }
}

type Found = Extract<Awaited<ReturnType<typeof search>>, { kind: 'found' }>

function results({ people, conversations, next, missing }: Found, query: string, frame: ProjectFrame): Html {
  const persons = table(
    'Visitors',
    ['Name', 'E-mail'],
    people.map(({ id, name, email }) => [
      linkTo(frame, 'visitors', id, foreignText(name ?? email ?? id)),
      foreignText(email),
    ]),
  )
  const note = html`<p class="faint">Up to ${formatCount(missing)} conversations have changed and can be searched after the next sync.</p>`
  return html`${people.length === 0 ? nothing : section('Visitors', persons)}
${section('Conversations', html`${conversationTable(conversations, parseSearch(query).words, frame)}${missing === 0 ? nothing : note}`)}
${older(next === null ? null : withQuery(addressOf(frame, 'search'), { q: query, before: next }))}`
}

/** One visitor: what is known, conversations, activity. */
export async function showVisitor({ db, frame, id }: ScreenRequest): Promise<Page | null> {
  const visitor = visibleTo(frame, await readVisitor(db, id))
  if (visitor === null) return null
  const { name, email, deletedAt, fields, conversations, activity } = visitor
  const activities = table(
    'Activity, the newest first',
    ['When', 'What'],
    activity.map(({ at, text }) => [timeOf(at, frame), foreignText(text)]),
    'No activity is known.',
  )
  const content = html`${deletedAt === null ? nothing : html`<p class="problem">The service no longer has this visitor.</p>`}
${facts([
  ['Name', foreignText(name)],
  ['E-mail', foreignText(email)],
  ['Id', foreignText(visitor.id)],
  ...fields.map(({ name: field, value }) => [field, foreignText(value)] as const),
])}
${section('Conversations', conversationTable(conversations, [], frame))}
${section('Activity', activities)}`
  return { title: 'Visitor', section: 'Search', content }
}

/** `words`: to mark. */
function conversationTable(rows: readonly ConversationRow[], words: readonly string[], frame: ProjectFrame): Html {
  return table(
    'Conversations, the newest first',
    ['Last message', 'Visitor', 'Status', 'Words'],
    rows.map(({ id, name, lastAt, handled, words: found }) => [
      linkTo(frame, 'conversations', id, lastAt === null ? foreignText(id) : timeOf(lastAt, frame)),
      foreignText(name),
      handled === null ? 'open' : 'handled',
      markedText(found, words),
    ]),
    'There are no conversations.',
  )
}
