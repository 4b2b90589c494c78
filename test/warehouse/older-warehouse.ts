/** Warehouses of older versions: of 0.1.0, and those that some of what was done once to older rows has not been done to. */
import { sql } from 'kysely'
import { onTestFinished } from 'vitest'
import { type JsonObject, stringifyJson } from '../../src/values/json.ts'
import { openKysely } from '../../src/warehouse/connection-pool.ts'
import { openPostgresPool } from '../../src/warehouse/postgres.ts'
import { openSqlitePool } from '../../src/warehouse/sqlite.ts'
import type { DatabaseInstance, TestDatabase } from '../support/databases.ts'
import { createReleased } from './released-warehouse.ts'

export const rowOf = (id: number): JsonObject => ({
  id,
  conversationId: 'c',
  senderType: 'agent',
  kind: 'utterance',
  content: `It's ${id}`,
  senderDisplayName: id % 3 === 0 ? null : 'Ann',
  createdAt: '2026-08-31T10:02:11Z',
  ...(id % 5 === 0 ? { mood: 'glad' } : {}),
})

/** What a service sent before, and what people had built on it. `query` ends with `close`. */
export async function openOlderWarehouse(db: TestDatabase, count: number) {
  const { database, query, close } = await openReleased(db)
  await query('alter table messages add column mood text')
  await query(`insert into discovered_fields (project_id, stream, path, column_name, type, first_seen_at)
    values ('main', 'messages', 'mood', 'mood', 'text', '2026-01-01T00:00:00Z')`)
  for (const id of Array.from({ length: count }, (_, n) => n + 1)) await query(insertOf(rowOf(id)))
  await query("create view glad as select id, raw from messages where mood = 'glad'")
  await query('create view glad_ids as select id from glad')
  return { database, query, close }
}

/** A warehouse of 0.1.0 without rows. */
export async function openReleased(db: TestDatabase) {
  const database = await db.makeEmpty()
  onTestFinished(database.drop)
  await createReleased(database)
  return { database, ...(await connect(database)) }
}

/** A warehouse of this version whose rows these migrations have not seen. */
export async function openWithout(db: TestDatabase, names: readonly string[]) {
  const database = await db.make()
  onTestFinished(database.drop)
  const connection = await connect(database)
  for (const name of names) await connection.query(`delete from sync_schema where name = '${name}'`)
  return { database, ...connection }
}

export async function connect({ kind, url }: DatabaseInstance) {
  const pool =
    kind === 'sqlite'
      ? openSqlitePool(url.replace('sqlite:', ''), { mustExist: false, synchronous: 'normal' })
      : await openPostgresPool(url, true)
  const connection = openKysely(pool)
  const query = async (text: string) => (await sql.raw<Row>(text).execute(connection)).rows
  return { query, close: () => connection.destroy() }
}

export type Row = Readonly<Record<string, unknown>>

function insertOf(row: JsonObject): string {
  const values = [stringifyJson(row), row.content, row.senderDisplayName, row.mood ?? null].map((value) =>
    value === null ? 'null' : `'${String(value).replaceAll("'", "''")}'`,
  )
  return `insert into messages (project_id, conversation_id, sender_type, kind, created_at, synced_at, run_id, asked_at, id, raw, content, sender_display_name, mood)
    values ('main', 'c', 'agent', 'utterance', '2026-08-31T10:02:11Z', '2026-09-01T00:00:00Z', 'a run', 1, ${row.id}, ${values})`
}
