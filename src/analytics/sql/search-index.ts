/**
 * The index of words: one entry for each conversation, written with its facts. Its numbers ascend
 * with time, so that the newest conversations are found first.
 */
import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { ProjectId } from '../../values/project.ts'
import { type EpochSeconds, rfc3339 } from '../../values/time.ts'
import { inList, rowsParameter } from '../../warehouse/dialect.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { wordsOf } from '../core/search-words.ts'

/** Of conversations without an entry: when the last message was written, and all texts. */
export async function insertSearchEntries(
  context: ProjectDb,
  conversations: readonly {
    readonly id: string
    readonly lastAt: EpochSeconds
    readonly texts: readonly string[]
  }[],
) {
  if (conversations.length === 0) return
  const { db, kind, project } = context
  const numbers = await chooseNumbers(context, conversations)
  const entries = conversations.map(({ id, texts }) => {
    return { id, number: numbers.get(id) ?? 0, words: [...wordsOf(texts)] }
  })
  if (kind === 'postgres') return insertAll(context, entries)
  for (const { id, number, words } of entries) {
    const entry = { project_id: project, conversation_id: id, id: number }
    await db.insertInto('search_conversations').values(entry).execute()
    await sql`insert into search_words (rowid, words) values (${number},
      ${words.join(' ')})`.execute(db)
  }
}

/** Of these conversations; null: of all. */
export async function removeSearchEntries(
  { db, kind, project }: ProjectDb,
  ids: readonly string[] | null,
): Promise<void> {
  if (ids?.length === 0) return
  const isRemoved = ids === null ? sql`true` : sql`conversation_id ${inList(kind, ids)}`
  const entries = sql`from search_conversations where project_id = ${project} and ${isRemoved}`
  const key = sql.ref(kind === 'sqlite' ? 'rowid' : 'id')
  await sql`delete from search_words where ${key} in (select id ${entries})`.execute(db)
  await sql`delete ${entries}`.execute(db)
}

/** In Postgres each statement is a round trip. */
async function insertAll(
  { db, kind, project }: ProjectDb,
  entries: readonly { readonly id: string; readonly number: number; readonly words: string[] }[],
): Promise<void> {
  const rows = entries.map(({ words, ...entry }) => ({ ...entry, words: JSON.stringify(words) }))
  const listed = rowsParameter(kind, { id: 'text', number: 'integer', words: 'text' }, rows)
  const insert = sql`
    with listed as materialized (select * from ${listed} as entries), numbered as (
      insert into search_conversations (project_id, conversation_id, id)
      select cast(${project} as text), id, number from listed)
    insert into search_words (id, words)
    select number, array_to_tsvector(array(select jsonb_array_elements_text(cast(words as jsonb))))
    from listed`
  await insert.execute(db)
}

/** Distinguishes conversations whose last messages are of the same second. */
const numbersPerSecond = 2 ** 20

/** In 2242: the numbers of later times would not be exact, and no choice would be free. */
const lastSecond: EpochSeconds = 2 ** 33 - 2

/** Free numbers by conversation: nearly always the first choice. */
async function chooseNumbers(
  { db, project }: ProjectDb,
  conversations: readonly { readonly id: string; readonly lastAt: EpochSeconds }[],
) {
  const chosen = new Map<number, string>()
  let open = conversations.map(({ id, lastAt }) => ({
    id,
    number: firstChoice(project, id, lastAt),
  }))
  while (open.length > 0) {
    const numbers = open.map(({ number }) => number)
    const rows = await db
      .selectFrom('search_conversations')
      .select('id')
      .where('id', 'in', numbers)
      .execute()
    const taken = new Set(rows.map(({ id }) => Number(id)))
    const next: typeof open = []
    for (const { id, number } of open) {
      if (taken.has(number) || chosen.has(number)) next.push({ id, number: number + 1 })
      else chosen.set(number, id)
    }
    open = next
  }
  return new Map([...chosen].map(([number, id]) => [id, number]))
}

/** Of the conversation with this number, as far as it had been read; null: not known. */
export function lastMessageAt(number: number): string | null {
  const seconds = Math.floor(number / numbersPerSecond)
  return seconds === 0 || seconds === lastSecond ? null : rfc3339(seconds)
}

function firstChoice(project: ProjectId, id: string, lastAt: EpochSeconds): number {
  const hash =
    createHash('sha256').update(`${project}\n${id}`).digest().readUInt32BE() % numbersPerSecond
  return Math.min(Math.max(0, lastAt), lastSecond) * numbersPerSecond + hash
}
