/**
 * A mirror to look at: eight messages in each conversation, and write-backs to two of five, in 42
 * batches.
 */

import { streamSpecs } from '../../schema/stream-specs.ts'
import { openWarehouse } from '../../src/app/open.ts'
import { analyzeAllTables } from '../../src/warehouse/statistics.ts'
import { seededRandom } from '../../test/support/seeded-random.ts'
import { fillPostgres, fillSqlite } from '../analytics/fill-mirror.ts'
import { benchFacts } from '../analytics/measure-layer.ts'
import { benchProject, synthesizeProject, type TableBatch } from '../analytics/synthetic-project.ts'
import { printFigure } from '../figures.ts'

/** Of one conversation: with the lengths of the others, a million in all. */
const maxMessages = 9

export async function fillMirror(url: string, conversations: number): Promise<void> {
  await (await openWarehouse(url)).close()
  const batches = withFewerMessages(synthesizeProject(conversations, seededRandom(1)))
  await (url.startsWith('sqlite:') ? fillSqlite(url, batches) : fillPostgres(url, batches))
  const warehouse = await openWarehouse(url)
  // As the sync that stored the rows would have done.
  await analyzeAllTables(warehouse.db, warehouse.kind)
  const started = performance.now()
  await benchFacts(warehouse).rebuild()
  printFigure('facts and the search index', (performance.now() - started) / 1000, 's')
  const syncedAt = '2026-01-01T00:00:00Z'
  // As a sync leaves them: with the number of rows.
  for (const [stream, { table }] of Object.entries(streamSpecs))
    await warehouse.query(`insert into sync_streams (project_id, stream, synced_at, counted_rows, counted_at)
      select '${benchProject}', '${stream}', '${syncedAt}', count(*), '${syncedAt}' from ${table}`)
  for (const statement of queueStatements(conversations, warehouse.kind === 'sqlite'))
    await warehouse.query(statement)
  await analyzeAllTables(warehouse.db, warehouse.kind)
  // The server of the tests does not do so by itself.
  if (warehouse.kind === 'postgres') await warehouse.query('vacuum')
  const [counts] = await warehouse.query(`select (select count(*) from messages) as messages,
    (select count(*) from conversations) as conversations, (select count(*) from writebacks) as writebacks`)
  for (const [name, count] of Object.entries(counts ?? {})) printFigure(name, Number(count), 'rows')
  await warehouse.close()
}

function* withFewerMessages(batches: Iterable<TableBatch>): Generator<TableBatch> {
  for (const batch of batches) {
    if (batch.table !== 'message_rows') yield batch
    else {
      const conversation = batch.columns.indexOf('conversation_id')
      const seen = new Map<unknown, number>()
      const rows = batch.rows.filter((row) => {
        const count = (seen.get(row[conversation]) ?? 0) + 1
        seen.set(row[conversation], count)
        return count <= maxMessages
      })
      yield { ...batch, rows }
    }
  }
}

const numbered = `(select id, row_number() over (order by id) as n from conversations
  where project_id = '${benchProject}' and deleted_at is null) as numbered`

const insertReplies = (batch: string, from: number, to: number) =>
  `insert into writebacks (project_id, operation, conversation_id, payload, batch_id, status, created_by)
  select '${benchProject}', 'message', id, '{"content":"We have found your order.","sender_name":"Ann"}', ${batch}, 'draft', 'olga'
  from ${numbered} where n > ${from} and n <= ${to}`

const jsonOfCall = `'{"visitorId":"' || visitor_id || '"}'`

/**
 * Of 125,000: a thousand drafts, twenty thousand in one batch, and forty batches that were sent, of
 * which some rows failed.
 */
const queueStatements = (conversations: number, isSqlite: boolean): readonly string[] => [
  // A call of every third visitor.
  `insert into calls (project_id, id, occurred_at, raw, synced_at, asked_at, run_id)
  select project_id, 'call-' || id, created_at, ${isSqlite ? jsonOfCall : `cast(${jsonOfCall} as jsonb)`}, synced_at, asked_at, run_id
  from conversations where visitor_id is not null and id in (select id from ${numbered} where n % 3 = 0)`,
  insertReplies(`'drafts'`, 0, 0.008 * conversations),
  insertReplies(`'many-drafts'`, 0.008 * conversations, 0.168 * conversations),
  insertReplies(`'batch-' || (n % 40)`, 0.168 * conversations, 0.4 * conversations),
  `update writebacks set status = 'succeeded', sent_at = created_at, finished_at = created_at where batch_id like 'batch-%'
    and seq % 50 <> 0`,
  `update writebacks set status = 'failed', error = 'the service answered 404', finished_at = created_at
    where batch_id like 'batch-%' and seq % 50 = 0`,
]
