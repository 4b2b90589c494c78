/**
 * Search: an id leads to its thing, else ids by their beginning, people by name and address,
 * conversations by their words.
 */
import { type RawBuilder, sql } from 'kysely'
import type { SearchQuery } from '../../analytics/analytics.ts'
import { hasWord, isFound, parseSearch } from '../../analytics/core/search-words.ts'
import { countPendingConversations } from '../../analytics/sql/facts-state.ts'
import { lastMessageAt } from '../../analytics/sql/search-index.ts'
import { type ColumnRules, isHash } from '../../values/private-columns.ts'
import { inList } from '../../warehouse/dialect.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { rowsPerPage, toPage } from '../core/list-page.ts'
import type { ConversationRow } from './conversations.ts'

const idsPerRead = 500
/** One more is read, which says that there are others. */
export const maxPeople = 10
/** More are said to be more than this. */
export const maxCounted = 1000
const maxIds = 10
/** Of an id: a shorter one would be found in every word. */
const minBeginning = 6
/** By the folders of their pages. */
const tablesOfIds = {
  conversations: 'conversations',
  visitors: 'visitors',
  batches: 'writeback_batches',
}

/** `before`: the `next` of the page before. An id is that of the only thing which is found. */
export async function search(
  context: ProjectDb,
  asked: string,
  before: string | null,
  columns: ColumnRules,
) {
  const text = storable(asked)
  const exact = await findById(context, text)
  if (exact !== null) return exact
  const searched = parseSearch(text)
  const found = await findConversations(context, searched, before)
  const shown = found.conversations.length
  const isPart = found.next !== null || (before !== null && shown > 0)
  const total = isPart ? await countEntries(context, searched) : shown
  /** Conversations that the index does not have yet. */
  const { conversations: missing } = await countPendingConversations(context)
  const [ids, people] =
    before === null
      ? [await findIds(context, text), await findPeople(context, text, columns)]
      : [[], []]
  return { kind: 'found' as const, ids, people, ...found, total, missing }
}

/**
 * The ids of all conversations that it finds, the newest first; those of a visitor whose id it is.
 */
export async function* searchIds(context: ProjectDb, asked: string): AsyncGenerator<string> {
  const text = storable(asked)
  const exact = await findById(context, text)
  if (exact !== null)
    return yield* exact.kind === 'conversation' ? [exact.id] : await idsOfVisitor(context, exact.id)
  const query = parseSearch(text)
  for (let before: string | null = null; query.words.length > 0; ) {
    const found: readonly Entry[] = await findEntries(context, query, before, idsPerRead)
    for (const { id } of found) yield id
    if (found.length < idsPerRead) return
    before = String(found.at(-1)?.number)
  }
}

export async function idsOfVisitor(
  { db, project }: ProjectDb,
  visitor: string,
): Promise<readonly string[]> {
  const { rows } = await sql<{
    id: string
  }>`select id from conversations where project_id = ${project}
    and visitor_id = ${visitor} and deleted_at is null order by last_message_at desc`.execute(db)
  return rows.map(({ id }) => id)
}

/** Postgres stores neither half a surrogate pair nor a NUL, so nothing has one. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '').trim()
}

async function findById({ db, project }: ProjectDb, id: string) {
  if (id === '' || id.length > 100) return null
  const { rows } = await sql<{ kind: 'conversation' | 'visitor'; id: string }>`
    select 'conversation' as kind, id from conversations where project_id = ${project}
    and id in (${id}, ${id.toLowerCase()})
    union all
    select 'visitor', id from visitors where project_id = ${project}
    and id in (${id}, ${id.toLowerCase()})`.execute(db)
  return rows[0] ?? null
}

/**
 * What has an id that begins so: keys are in the order of their bytes, so that it is a range of an
 * index.
 */
async function findIds({ db, project }: ProjectDb, text: string) {
  if (text.length < minBeginning) return []
  const ranges = [...new Set([text, text.toLowerCase()])].flatMap((from) =>
    Object.entries(tablesOfIds).map(
      ([
        folder,
        table,
      ]) => sql`select * from (select ${sql.lit(folder)} as folder, id from ${sql.table(table)}
        where project_id = ${project} and id >= ${from} and id < ${`${from}\u{10FFFF}`}
        order by id limit ${maxIds}) as ids`,
    ),
  )
  const { rows } = await sql<{
    folder: string
    id: string
  }>`${sql.join(ranges, sql` union all `)}`.execute(db)
  return rows
}

/**
 * By the beginning of the address, with or without its `+tag`, of the name, or of its second part.
 */
async function findPeople({ db, kind, project }: ProjectDb, text: string, columns: ColumnRules) {
  if (text.length < 2) return []
  const escaped = text.replace(/[\\%_]/g, '\\$&')
  const like = (column: 'name' | 'email', pattern: string) =>
    sql`${sql.ref(column)} ${kind === 'sqlite' ? sql`like` : sql`ilike`} ${pattern} escape '\\'`
  const tagged = escaped.includes('@') ? [like('email', `${escaped.replace('@', '+%@')}%`)] : []
  const matches = [
    like('email', `${escaped}%`),
    ...tagged,
    like('name', `${escaped}%`),
    like('name', `% ${escaped}%`),
    ...(['email', 'name'] as const).flatMap((column) => {
      const stored = columns.storedText('visitors', column, text)
      return isHash(stored) ? [sql`${sql.ref(column)} = ${stored}`] : []
    }),
  ]
  const { rows } = await sql<{ id: string; name: string | null; email: string | null }>`
    select id, name, email from visitors where project_id = ${project} and deleted_at is null
      and (${sql.join(matches, sql` or `)}) limit ${maxPeople + 1}`.execute(db)
  return rows
}

type Entry = Omit<ConversationRow, 'words' | 'lastAt'> & { readonly number: number }
type Found = { readonly conversations: readonly ConversationRow[]; readonly next: string | null }

async function findConversations(
  context: ProjectDb,
  query: SearchQuery,
  before: string | null,
): Promise<Found> {
  if (query.words.length === 0) return { conversations: [], next: null }
  const found = await findEntries(context, query, before, rowsPerPage + 1)
  const { rows, next } = toPage(found, rowsPerPage, ({ number }) => number)
  const ids = rows.map(({ id }) => id)
  const words = await findWords(context, ids, query)
  return {
    // The time by which they are sorted: the conversation may have been read again since, without
    // its messages.
    next,
    conversations: rows.map(({ number, ...row }) => ({
      ...row,
      lastAt: lastMessageAt(Number(number)),
      words: words.get(row.id) ?? null,
    })),
  }
}

/**
 * The newest entries with these words, up to `limit`. Postgres does not know how frequent most
 * words are: it would read the whole index backwards for a word that nobody wrote, or all entries
 * of one that everybody wrote. So the newest ones are looked through first, and if they have no
 * page of it, the word is rare enough for the index of words.
 */
async function findEntries(
  context: ProjectDb,
  query: SearchQuery,
  before: string | null,
  limit: number,
): Promise<readonly Entry[]> {
  const { db, kind, project } = context
  const number = sql.ref(kind === 'sqlite' ? 'search_words.rowid' : 'search_words.id')
  const isBefore =
    before !== null && /^\d{1,16}$/.test(before) ? sql`${number} < ${Number(before)}` : sql`true`
  const isFound = sql`${matches(kind, query)} and ${isBefore}`
  const read = async (source: RawBuilder<unknown>): Promise<readonly Entry[]> => {
    const { rows } = await sql<Entry>`
    select c.id, found.number, c.handled_at as handled,
      coalesce(nullif(trim(visitors.name), ''), visitors.email) as name
    from (select s.conversation_id, s.id as number from ${source} join search_conversations as s
    on s.id = ${number}
      where ${isFound} and s.project_id = ${project} order by ${number} desc limit ${limit})
      as found
      join conversations as c on c.project_id = ${project} and c.id = found.conversation_id
      left join visitors on visitors.project_id = ${project} and visitors.id = c.visitor_id
    order by found.number desc`.execute(db)
    return rows
  }
  if (kind === 'sqlite') return read(sql`search_words`)
  const newest = await read(
    sql`(select * from search_words where ${isBefore} order by id desc limit ${newestEntries})
      as search_words`,
  )
  if (newest.length === limit) return newest
  // `offset 0` keeps the planner from reading backwards until it has a page.
  return read(sql`(select * from search_words where ${isFound} offset 0) as search_words`)
}

const newestEntries = 2000

/** Of conversations with these words: all, or one more than are counted. */
async function countEntries({ db, kind, project }: ProjectDb, query: SearchQuery): Promise<number> {
  // As above, Postgres reads only the index of words.
  const found =
    kind === 'sqlite'
      ? sql`select rowid as id from search_words where ${matches(kind, query)}`
      : sql`select id from search_words where ${matches(kind, query)} offset 0`
  const { rows } = await sql<{ count: number | string }>`select count(*) as count from (
    select 1 from (${found}) as found join search_conversations as s on s.id = found.id
    where s.project_id = ${project} limit ${maxCounted + 1}) as counted`.execute(db)
  return Number(rows[0]?.count ?? 0)
}

/** The words have letters and digits only, so that none is a sign of the query's language. */
function matches(kind: ProjectDb['kind'], { words, isPrefix }: SearchQuery): RawBuilder<unknown> {
  const terms = (quote: string, prefix: string) =>
    words.map(
      (word, index) =>
        quote + word + quote + (isPrefix && index === words.length - 1 ? prefix : ''),
    )
  if (kind === 'sqlite') return sql`search_words match ${terms('"', '*').join(' ')}`
  return sql`search_words.words @@ cast(${terms("'", ':*').join(' & ')} as tsquery)`
}

/**
 * Messages that are looked through for a place to show, and characters of each and of all:
 * customers write long ones.
 */
const maxMessages = 3000
const maxOfMessage = 4000
const maxCharacters = 1_000_000
const shownBefore = 60
const shownAfter = 140

/** The newest message of each conversation that has one of the words, cut to its place. */
async function findWords(
  { db, kind, project }: ProjectDb,
  ids: readonly string[],
  query: SearchQuery,
) {
  const { rows } = await sql<{ id: string; content: string }>`
    select conversation_id as id, substr(content, 1, ${sql.lit(maxOfMessage)}) as content
    from messages where project_id = ${project} and deleted_at is null
      and kind = 'utterance' and content is not null and conversation_id ${inList(kind, ids)}
    order by id desc limit ${maxMessages}`.execute(db)
  const found = new Map<string, string>()
  let characters = 0
  for (const { id, content } of rows) {
    if (found.has(id)) continue
    characters += content.length
    if (characters > maxCharacters) break
    if (hasWord(content, query)) found.set(id, cut(content, query))
  }
  return found
}

/** Between whole words, where the script has spaces. */
function cut(content: string, { words }: SearchQuery): string {
  const found = content.matchAll(/[\p{L}\p{N}\p{M}]+/gu).find(([word]) => isFound(word, words))
  const place =
    Math.max(0, ...words.map((word) => found?.[0].indexOf(word) ?? 0)) + (found?.index ?? 0)
  const from = Math.max(0, place - shownBefore)
  const to = place + shownAfter
  const before = content.slice(from, place)
  const after = content.slice(place, to)
  const start = from === 0 ? before : `…${before.replace(/^\S*\s+/, '')}`
  return start + (to >= content.length ? after : `${after.replace(/\s\S*$/, '').trimEnd()}…`)
}
