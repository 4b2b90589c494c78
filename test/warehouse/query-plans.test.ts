/** Queries of the mirror over 100,000 messages: each uses its index. */

import { expect, onTestFinished, test } from 'vitest'
import type { Warehouse } from '../../src/app/open.ts'
import { analyzeAllTables } from '../../src/warehouse/statistics.ts'
import { databases } from '../support/databases.ts'

/** The primary key: SQLite names it after the table. */
const messagesByKey =
  /message_rows_pkey|sqlite_autoindex_message_rows_1|SEARCH m\w* USING PRIMARY KEY/

/**
 * Queries that people ask of the mirror, and the index that each must use; those that read whole
 * tables need none.
 */
const questions: readonly {
  readonly title: string
  readonly sql: string
  readonly index: RegExp
}[] = [
  {
    title: 'Open work, longest waiting first',
    index: /conversations_open/,
    sql: `
      select c.id, v.name, v.email, c.waiting_since, c.last_message_at
      from conversations c
      left join visitors v on v.project_id = c.project_id and v.id = c.visitor_id
      where c.handled_at is null and c.deleted_at is null
      order by case when c.waiting_since is null then 1 else 0 end, c.waiting_since`,
  },
  {
    title: 'How long visitors waited for the first answer, the newest conversations first',
    index: messagesByKey,
    sql: `
      select c.id, c.created_at, (
        select m.created_at from messages m
        where m.project_id = c.project_id and m.conversation_id = c.id
          and m.kind = 'utterance' and m.sender_type <> 'visitor' and m.created_at >= c.created_at
        order by m.id limit 1
      ) as first_answer_at
      from conversations c
      where c.deleted_at is null
      order by c.created_at desc
      limit 1000`,
  },
  {
    title: 'What was said last in each open conversation',
    index: new RegExp(`(?=.*conversations_open)(?=.*(?:${messagesByKey.source}))`),
    sql: `
      select c.id, c.waiting_since, (
        select m.content from messages m
        where m.project_id = c.project_id and m.conversation_id = c.id and m.kind = 'utterance'
        order by m.created_at desc limit 1
      ) as last_words
      from conversations c
      where c.handled_at is null and c.deleted_at is null`,
  },
  {
    title: 'Conversations that were handled and came back',
    index: /changes_of_handled/,
    sql: `
      select conversation_id, count(*) as reopened, max(seen_at) as last_seen
      from conversation_changes
      where field = 'handled_at' and old_value is not null and new_value is null
      group by conversation_id
      order by reopened desc`,
  },
  {
    title: 'A number of the rollups, day by day, and when each was last asked for',
    index: /metrics_by_name/,
    sql: `
      select m.day, m.value, r.read_at
      from analytics_metrics m
      join analytics_rollups r
        on r.project_id = m.project_id and r.window_from = m.window_from and r.window_to = m.window_to
      where m.metric = 'conversations.started'
      order by m.window_from`,
  },
  {
    title: 'What is missing',
    index: /gaps_open/,
    sql: `
      select stream, from_ts, to_ts, reason, found_at
      from sync_gaps
      where resolved_at is null
      order by found_at`,
  },
]

/** Inserts, one statement per table. `n(i)` counts; ids are distributed like random ones. */
function statements(kind: Warehouse['kind']): string[] {
  const sqlite = kind === 'sqlite'
  const n = (count: number) =>
    sqlite
      ? `(with recursive n(i) as (select 0 union all select i + 1 from n where i < ${count - 1}) select i from n) n`
      : `generate_series(0, ${count - 1}) n(i)`
  const id = (of: string, mark: string) =>
    sqlite
      ? `printf('%08x-0000-4000-${mark}000-%012x', (${of} * 2654435761) & 4294967295, ${of})`
      : `lpad(to_hex((${of} * 2654435761) & 4294967295), 8, '0') || '-0000-4000-${mark}000-' || lpad(to_hex(${of}), 12, '0')`
  const at = (seconds: string) =>
    sqlite ? `strftime('%Y-%m-%dT%H:%M:%SZ', ${seconds}, 'unixepoch')` : `to_timestamp(${seconds})`
  const mirrored = 'project_id, raw, synced_at, asked_at'
  const values = `'p', '{}', ${at('1700000000')}, 0`
  const seconds = 'n.i % 10000 * 3000 + 1600000000'
  const or = (share: number, value: string) => `case when n.i % ${share} = 0 then ${value} end`
  return [
    `insert into conversations (${mirrored}, id, visitor_id, created_at, last_message_at, handled_at)
      select ${values}, ${id('n.i', '8')}, ${id('n.i % 3600', '9')}, ${at(seconds)}, ${at(seconds)},
      case when n.i % 50 > 0 then ${at(seconds)} end from ${n(10_000)}`,
    `insert into visitors (${mirrored}, id) select ${values}, ${id('n.i', '9')} from ${n(3600)}`,
    `insert into message_rows (${mirrored}, conversation_id, id, sender_type, kind, content, created_at)
      select ${values}, ${id('(n.i / 10)', '8')}, n.i, case when n.i % 3 = 0 then 'agent' else 'visitor' end, 'utterance',
      'hello', ${at('n.i / 10 * 3000 + n.i % 10 * 60 + 1600000000')} from ${n(100_000)}`,
    `insert into conversation_changes (project_id, id, conversation_id, field, old_value, seen_at, old_read_at)
      select 'p', ${id('n.i', 'a')}, ${id('n.i % 10000', '8')}, coalesce(${or(20, "'handled_at'")}, 'status'), 'x',
      ${at(seconds)}, ${at(seconds)}
      from ${n(20_000)}`,
    `insert into analytics_rollups (${mirrored}, window_from, window_to, day, time_zone, read_at)
      select ${values}, ${at('n.i * 86400')}, ${at('(n.i + 1) * 86400')}, '2026-01-01', 'UTC', ${at('1700000000')}
      from ${n(600)}`,
    `insert into analytics_metrics (project_id, window_from, window_to, day, time_zone, metric, value)
      select 'p', ${at('n.i / 20 * 86400')}, ${at('(n.i / 20 + 1) * 86400')}, '2026-01-01', 'UTC',
      coalesce(${or(20, "'conversations.started'")}, 'metric ' || (n.i % 20)), 1 from ${n(12_000)}`,
    `insert into calls (${mirrored}, id, occurred_at) select ${values}, ${id('n.i', 'b')}, ${at(seconds)} from ${n(2000)}`,
    `insert into call_recordings (${mirrored}, call_id, has_recording)
      select ${values}, ${id('n.i', 'b')}, ${sqlite ? 'n.i % 2' : 'n.i % 2 = 0'} from ${n(2000)}`,
    `insert into sync_gaps (project_id, id, stream, reason, found_at, seen_at, dedup_key, resolved_at)
      select 'p', ${id('n.i', 'c')}, 'messages', 'x', ${at(seconds)}, 1, 'x' || n.i, ${at(seconds)}
      from ${n(1200)}`,
    "update sync_gaps set resolved_at = null where dedup_key = 'x1'",
  ]
}

async function explainQuery(warehouse: Warehouse, question: string): Promise<string> {
  const rows = await warehouse.query(
    `explain ${warehouse.kind === 'sqlite' ? 'query plan' : ''} ${question}`,
  )
  return rows.map((row) => String(row.detail ?? row['QUERY PLAN'])).join('\n')
}

for (const db of databases) {
  test(`every query uses its index over 100,000 messages — ${db.name}`, async () => {
    const database = await db.make()
    onTestFinished(database.drop)
    const warehouse = await database.open()
    for (const statement of statements(warehouse.kind)) await warehouse.query(statement)
    await analyzeAllTables(warehouse.db, warehouse.kind)
    for (const { title, sql, index } of questions) {
      expect(await explainQuery(warehouse, sql), title).toMatch(new RegExp(index, 's'))
      expect((await warehouse.query(sql)).length, title).toBeGreaterThanOrEqual(
        title.includes('came back') ? 0 : 1,
      )
    }
  })
}
