/** Makes a warehouse of 0.1.0, past the program. */
import { type Kysely, sql } from 'kysely'
import { openKysely } from '../../src/warehouse/connection-pool.ts'
import { openPostgresPool } from '../../src/warehouse/postgres.ts'
import { openSqlitePool } from '../../src/warehouse/sqlite.ts'
import { createReleased } from '../../test/warehouse/released-warehouse.ts'

const batch = 50_000

/** Messages of 100 characters, a hundred to a conversation. */
export async function makeOlderWarehouse(url: string, messages: number): Promise<void> {
  const kind = url.startsWith('sqlite:') ? 'sqlite' : 'postgres'
  await createReleased({ kind, url })
  const pool =
    kind === 'sqlite'
      ? openSqlitePool(url.slice('sqlite:'.length), { mustExist: false, synchronous: 'normal' })
      : await openPostgresPool(url, true)
  const db = openKysely(pool)
  for (let from = 0; from < messages; from += batch)
    await insert(db as unknown as Kysely<unknown>, dialects[kind], from, Math.min(messages, from + batch))
  await db.destroy()
}

type Dialect = (typeof dialects)[keyof typeof dialects]

/** Ids of conversations are distributed like random ones. */
const dialects = {
  sqlite: {
    numbers: (from: number, to: number) =>
      `(with recursive s(i) as (select ${from} union all select i + 1 from s where i < ${to - 1}) select i from s)`,
    conversation: "printf('%08x-0000-4000-8000-%012x', ((i / 100) * 2654435761) & 4294967295, i / 100)",
    createdAt: "strftime('%Y-%m-%dT%H:%M:%SZ', 1700000000 + i * 60, 'unixepoch')",
    object: 'json_object',
    time: (text: string) => text,
  },
  postgres: {
    numbers: (from: number, to: number) => `(select i from generate_series(${from}, ${to - 1}) s(i))`,
    conversation:
      "lpad(to_hex(((i / 100)::bigint * 2654435761) & 4294967295), 8, '0') || '-0000-4000-8000-' || lpad(to_hex(i / 100), 12, '0')",
    createdAt: `to_char(to_timestamp(1700000000 + i * 60) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`,
    object: 'jsonb_build_object',
    time: (text: string) => `(${text})::timestamptz`,
  },
} as const

const [project, run] = ['7d1f4f6e-5a2b-4c3d-8e9f-0a1b2c3d4e5f', '0192f4f6-5a2b-7c3d-8e9f-0a1b2c3d4e5f']
const text = 'Thank you for waiting. Your order left our warehouse this morning, and should be with you by Friday. '

async function insert(db: Kysely<unknown>, dialect: Dialect, from: number, to: number): Promise<void> {
  const { numbers, conversation, createdAt, object, time } = dialect
  await sql
    .raw(
      `insert into messages (project_id, conversation_id, id, raw, synced_at, run_id, asked_at, sender_type, kind, content,
        sender_display_name, created_at)
      select '${project}', c, i, ${object}('id', i, 'conversationId', c, 'senderType', 'agent', 'kind', 'utterance',
          'content', content, 'senderDisplayName', 'Ann Example', 'createdAt', created),
        ${time("'2026-09-01T00:00:00Z'")}, '${run}', 1, 'agent', 'utterance', content, 'Ann Example', ${time('created')}
      from (select i, ${conversation} as c, ${createdAt} as created,
        substr('${text}' || i, 1 + length(cast(i as text)), 100) as content from ${numbers(from, to)} n) rows_to_insert`,
    )
    .execute(db)
}
