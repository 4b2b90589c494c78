/** The queries of the data dictionary over 250,000 messages: each uses an index if one can help. */
import { readFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import type { Warehouse } from '../../src/warehouse/open.ts'
import { databases } from '../support/databases.ts'

const text = readFileSync(new URL('../../docs/warehouse.md', import.meta.url), 'utf8')
const questions = [...text.matchAll(/```sql\n-- (.*?)\n(.*?)```/gs)].map(([, title = '', sql = '']) => ({ title, sql }))

/** The primary key: SQLite names it after the table. */
const messagesByKey = /messages_pkey|sqlite_autoindex_messages_1|SEARCH m\w* USING PRIMARY KEY/

/** The index that each query must use; null: it reads all rows of its tables, so no index helps. */
const expected: Readonly<Record<string, RegExp | null>> = {
  'Open work, longest waiting first': /conversations_open/,
  "Who says how much (kind = 'utterance' leaves out the system's events)": null,
  'How long visitors waited for the first answer, the newest conversations first': messagesByKey,
  'What was said last in each open conversation': new RegExp(
    `(?=.*conversations_open)(?=.*(?:${messagesByKey.source}))`,
  ),
  'Conversations that were handled and came back': /changes_of_handled/,
  'A number of the rollups, day by day, and when each was last asked for': /metrics_by_name/,
  'Calls that have a recording': null,
  'What is missing': /gaps_open/,
}

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
  const seconds = 'n.i % 25000 * 3000 + 1600000000'
  const or = (share: number, value: string) => `case when n.i % ${share} = 0 then ${value} end`
  return [
    `insert into conversations (${mirrored}, id, visitor_id, created_at, last_message_at, handled_at)
      select ${values}, ${id('n.i', '8')}, ${id('n.i % 9000', '9')}, ${at(seconds)}, ${at(seconds)},
      case when n.i % 50 > 0 then ${at(seconds)} end from ${n(25_000)}`,
    `insert into visitors (${mirrored}, id) select ${values}, ${id('n.i', '9')} from ${n(9000)}`,
    `insert into messages (${mirrored}, conversation_id, id, sender_type, kind, content, created_at)
      select ${values}, ${id('(n.i / 10)', '8')}, n.i, case when n.i % 3 = 0 then 'agent' else 'visitor' end, 'utterance',
      'hello', ${at('n.i / 10 * 3000 + n.i % 10 * 60 + 1600000000')} from ${n(250_000)}`,
    `insert into conversation_changes (project_id, id, conversation_id, field, old_value, seen_at)
      select 'p', ${id('n.i', 'a')}, ${id('n.i % 25000', '8')}, coalesce(${or(20, "'handled_at'")}, 'status'), 'x', ${at(seconds)}
      from ${n(50_000)}`,
    `insert into analytics_rollups (${mirrored}, window_from, window_to) select ${values}, ${at('n.i * 86400')},
      ${at('(n.i + 1) * 86400')} from ${n(1500)}`,
    `insert into analytics_metrics (project_id, window_from, window_to, metric, value)
      select 'p', ${at('n.i / 20 * 86400')}, ${at('(n.i / 20 + 1) * 86400')},
      coalesce(${or(20, "'conversations.started'")}, 'metric ' || (n.i % 20)), 1 from ${n(30_000)}`,
    `insert into calls (${mirrored}, id, occurred_at) select ${values}, ${id('n.i', 'b')}, ${at(seconds)} from ${n(5000)}`,
    `insert into call_recordings (${mirrored}, call_id, has_recording)
      select ${values}, ${id('n.i', 'b')}, ${sqlite ? 'n.i % 2' : 'n.i % 2 = 0'} from ${n(5000)}`,
    `insert into sync_gaps (project_id, id, stream, reason, found_at, subject, resolved_at)
      select 'p', ${id('n.i', 'c')}, 'messages', 'x', ${at(seconds)}, 'x' || n.i, ${at(seconds)}
      from ${n(3000)}`,
    "update sync_gaps set resolved_at = null where subject = 'x1'",
  ]
}

async function explainQuery(warehouse: Warehouse, question: string): Promise<string> {
  const rows = await warehouse.query(`explain ${warehouse.kind === 'sqlite' ? 'query plan' : ''} ${question}`)
  return rows.map((row) => String(row.detail ?? row['QUERY PLAN'])).join('\n')
}

for (const db of databases.filter(({ name }) => name !== 'pglite')) {
  test(`every query of the dictionary uses its index over 250,000 messages — ${db.name}`, async () => {
    const database = await db.make()
    onTestFinished(database.drop)
    const warehouse = await database.open()
    for (const statement of statements(warehouse.kind)) await warehouse.query(statement)
    await warehouse.analyzeTables()
    expect(questions.map(({ title }) => title)).toEqual(Object.keys(expected))
    for (const { title, sql } of questions) {
      const index = expected[title]
      if (index != null) expect(await explainQuery(warehouse, sql), title).toMatch(new RegExp(index, 's'))
      expect((await warehouse.query(sql)).length, title).toBeGreaterThanOrEqual(title.includes('came back') ? 0 : 1)
    }
  })
}
