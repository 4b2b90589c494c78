/** A warehouse of the version before the migration `0016_message_rows`, with messages and what people have built on them. */
import { sql } from 'kysely'
import { onTestFinished } from 'vitest'
import { migrations } from '../../schema/migrations/migrations.ts'
import { updateAnalyticsViews } from '../../src/analytics/sql/views.ts'
import { type JsonObject, stringifyJson } from '../../src/values/json.ts'
import { openKysely } from '../../src/warehouse/connection-pool.ts'
import { migrate } from '../../src/warehouse/migrate.ts'
import { openPostgresPool } from '../../src/warehouse/postgres.ts'
import { openSqlitePool } from '../../src/warehouse/sqlite.ts'
import type { TestDatabase } from '../support/databases.ts'

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
  const { database, query, close } = await openWithout(db, [
    '0016_message_rows',
    '0019_activity_keys',
    '0025_retention',
    '0028_resumed_sending',
    '0035_changed_approvals',
  ])
  await query('alter table messages add column mood text')
  await query(`insert into discovered_fields (project_id, stream, path, column_name, type, first_seen_at)
    values ('main', 'messages', 'mood', 'mood', 'text', '2026-01-01T00:00:00Z')`)
  for (const id of Array.from({ length: count }, (_, n) => n + 1)) await query(insertOf(rowOf(id)))
  await query("create view glad as select id, raw from messages where mood = 'glad'")
  await query('create view glad_ids as select id from glad')
  return { database, query, close }
}

/** A warehouse that these migrations have not been applied to. `query` ends with `close`. */
export async function openWithout(db: TestDatabase, names: readonly string[]) {
  const older = Object.fromEntries(Object.entries(migrations).filter(([name]) => !names.includes(name)))
  const database = await db.makeEmpty()
  onTestFinished(database.drop)
  const url = database.url ?? ''
  const pool =
    database.kind === 'sqlite'
      ? openSqlitePool(url.replace('sqlite:', ''), { mustExist: false, synchronous: 'normal' })
      : await openPostgresPool(url, true)
  const connection = openKysely(pool)
  const query = async (text: string) => (await sql.raw<Row>(text).execute(connection)).rows
  await migrate(connection, database.kind, older)
  await connection.transaction().execute((trx) => updateAnalyticsViews(trx, database.kind))
  return { database, query, close: () => connection.destroy() }
}

export type Row = Readonly<Record<string, unknown>>

function insertOf(row: JsonObject): string {
  const values = [stringifyJson(row), row.content, row.senderDisplayName, row.mood ?? null].map((value) =>
    value === null ? 'null' : `'${String(value).replaceAll("'", "''")}'`,
  )
  return `insert into messages (project_id, conversation_id, sender_type, kind, created_at, synced_at, run_id, asked_at, id, raw, content, sender_display_name, mood)
    values ('main', 'c', 'agent', 'utterance', '2026-08-31T10:02:11Z', '2026-09-01T00:00:00Z', 'a run', 1, ${row.id}, ${values})`
}
