/**
 * The query plans of a sync: without new rows, SQLite searches by index and scans no large table;
 * Postgres does not read all messages for each conversation.
 */

import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { databases } from '../../support/databases.ts'
import { waitUntil } from '../../support/wait.ts'
import { withSandbox } from './with-sandbox.ts'

/** The tables that grow with the project. */
const largeTable =
  /(?:SCAN|SEARCH) (?:messages|conversations|sync_children|visitors|calls|visitor_activity)\b.*/
const byProjectOnly =
  /^SEARCH \w+ USING (?:COVERING )?INDEX sqlite_autoindex_\w+ \(project_id=\?(?: AND stream=\?)?\)/

/** The texts of all statements that are prepared while `work` runs. */
async function statementsOf(work: () => Promise<unknown>): Promise<ReadonlySet<string>> {
  const { prepare } = Database.prototype
  const texts = new Set<string>()
  Database.prototype.prepare = function (this: Database.Database, text: string) {
    texts.add(text)
    return prepare.call(this, text)
  } as typeof prepare
  try {
    await work()
  } finally {
    Database.prototype.prepare = prepare
  }
  return texts
}

test('a sync without new rows scans no large table', async () => {
  const size = {
    conversations: 300,
    visitors: 60,
    calls: 60,
    messagesPerConversation: [40, 40],
    days: 2,
  } as const
  await withSandbox({ seed: 3, size }, async ({ url, sync }) => {
    await sync()
    const statements = await statementsOf(sync)
    const file = new Database(url.slice('sqlite:'.length), { readonly: true })
    try {
      file.function('machine_ms', () => 0)
      file.function('canonical_json', { deterministic: true }, String)
      const queries = [...statements].filter((text) =>
        /^\s*(?:select|update|delete|with|insert)/i.test(text),
      )
      expect(queries.length).toBeGreaterThan(30)
      const scans = queries.flatMap((text) => {
        const plan = file.prepare(`explain query plan ${text}`)
        const rows = plan.all(...Array.from({ length: text.split('?').length - 1 }, () => 'x')) as {
          detail: string
        }[]
        const isScan = (detail: string) => /^SCAN/.test(detail) || byProjectOnly.test(detail)
        const found = rows.filter(({ detail }) => largeTable.test(detail) && isScan(detail))
        return found.map(({ detail }) => `${detail} — ${text.replace(/\s+/g, ' ').trim()}`)
      })
      expect(scans).toEqual([])
    } finally {
      file.close()
    }
  })
})

test('a sync into Postgres reads each message a few times through an index', async () => {
  const messages = { conversations: 80, messagesPerConversation: [30, 30] } as const
  const size = { ...messages, visitors: 20, calls: 20, days: 2 }
  await withSandbox({ db: databases[1], seed: 3, size }, async ({ warehouse, sync }) => {
    await sync()
    // Now there are statistics.
    await sync({ mode: 'full' })
    // A process of the server counts what it read when it ends.
    const others = `select 1 from pg_stat_activity where datname = current_database()
      and backend_type = 'client backend' and pid <> pg_backend_pid()`
    await waitUntil(async () => (await warehouse.query(others)).length === 0)
    const reads = await warehouse.query(`select indexrelname as index, idx_tup_read as rows
      from pg_stat_user_indexes where relname = 'message_rows' and idx_tup_read > 10 * 80 * 30`)
    expect(reads).toEqual([])
  })
})
