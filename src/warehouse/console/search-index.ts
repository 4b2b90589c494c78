/**
 * The index of words: one entry for each conversation, written together with its facts, so that both are as fresh as each
 * other and a rebuild of the facts fills it. Its numbers ascend with time, so that the newest conversations are found first.
 */

import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { wordsOf } from '../../core/console/search-words.ts'
import type { ProjectId } from '../../core/project.ts'
import type { EpochSeconds } from '../../core/time.ts'
import { type Db, sendStatement } from '../database/connection-pool.ts'
import { inList, rowsParameter } from '../database/dialect.ts'
import type { ProjectDb } from '../database/project-db.ts'

type Context = Pick<ProjectDb, 'db' | 'kind' | 'project'>

/** A conversation that exists, and when its last message was written. */
export type IndexedConversation = { readonly id: string; readonly lastAt: EpochSeconds }

/** Replaces the entries of these ids; a conversation that no longer exists has none. */
export async function replaceSearchEntries(
  context: Context,
  ids: readonly string[],
  existing: readonly IndexedConversation[],
): Promise<void> {
  await removeEntries(context, ids)
  if (existing.length === 0) return
  const numbers = await chooseNumbers(context, existing)
  const texts = await readTexts(context, ids)
  const entries = [...numbers].map(([id, number]) => ({ id, number, words: [...wordsOf(texts.get(id) ?? [])] }))
  if (context.kind === 'postgres') return insertAll(context, entries)
  for (const entry of entries) await insertEntry(context, entry)
}

type Entry = { readonly id: string; readonly number: number; readonly words: readonly string[] }

async function removeEntries({ db, kind, project }: Context, ids: readonly string[]): Promise<void> {
  const entries = sql`select id from search_conversations where project_id = ${project} and conversation_id ${inList(kind, ids)}`
  const key = sql.ref(kind === 'sqlite' ? 'rowid' : 'id')
  await sendStatement(db, sql`delete from search_words where ${key} in (${entries})`)
  await sendStatement(
    db,
    sql`delete from search_conversations where project_id = ${project} and conversation_id ${inList(kind, ids)}`,
  )
}

async function insertEntry({ db, project }: Context, { id, number, words }: Entry): Promise<void> {
  await db.insertInto('search_conversations').values({ project_id: project, conversation_id: id, id: number }).execute()
  await sql`insert into search_words (rowid, words) values (${number}, ${words.join(' ')})`.execute(db)
}

/** In Postgres each statement that is waited for is a round trip. */
async function insertAll({ db, kind, project }: Context, entries: readonly Entry[]): Promise<void> {
  const rows = entries.map(({ words, ...entry }) => ({ ...entry, words: JSON.stringify(words) }))
  const listed = rowsParameter(kind, { id: 'text', number: 'integer', words: 'text' }, rows)
  const insert = sql`
    with listed as materialized (select * from ${listed} as entries), numbered as (
      insert into search_conversations (project_id, conversation_id, id)
      select cast(${project} as text), id, number from listed)
    insert into search_words (id, words)
    select number, array_to_tsvector(array(select jsonb_array_elements_text(cast(words as jsonb)))) from listed`
  await sendStatement(db, insert)
}

/** Distinguishes conversations whose last messages are of the same second. */
const numbersPerSecond = 2 ** 20

/** Free numbers: nearly always the first choice. */
async function chooseNumbers(
  { db, project }: Context,
  conversations: readonly IndexedConversation[],
): Promise<ReadonlyMap<string, number>> {
  const chosen = new Map<number, string>()
  let open = conversations.map(({ id, lastAt }) => ({ id, number: firstChoice(project, id, lastAt) }))
  while (open.length > 0) {
    const taken = new Set(
      await findNumbers(
        db,
        open.map(({ number }) => number),
      ),
    )
    const next: typeof open = []
    for (const { id, number } of open) {
      if (taken.has(number) || chosen.has(number)) next.push({ id, number: number + 1 })
      else chosen.set(number, id)
    }
    open = next
  }
  return new Map([...chosen].map(([number, id]) => [id, number]))
}

function firstChoice(project: ProjectId, id: string, lastAt: EpochSeconds): number {
  const hash = createHash('sha256').update(`${project}\n${id}`).digest().readUInt32BE() % numbersPerSecond
  return Math.max(0, lastAt) * numbersPerSecond + hash
}

async function findNumbers(db: Db, numbers: readonly number[]): Promise<readonly number[]> {
  const rows = await db.selectFrom('search_conversations').select('id').where('id', 'in', numbers).execute()
  return rows.map(({ id }) => Number(id))
}

/** What was written in each conversation. */
async function readTexts({ db, kind, project }: Context, ids: readonly string[]): Promise<Map<string, string[]>> {
  const { rows } = await sql<{ id: string; content: string }>`
    select conversation_id as id, content from messages where project_id = ${project} and deleted_at is null
      and kind = 'utterance' and content is not null and conversation_id ${inList(kind, ids)}`.execute(db)
  const texts = new Map<string, string[]>()
  for (const { id, content } of rows) {
    const known = texts.get(id)
    if (known === undefined) texts.set(id, [content])
    else known.push(content)
  }
  return texts
}
