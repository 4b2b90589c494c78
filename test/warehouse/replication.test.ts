/**
 * Logical replication of a warehouse in Postgres: a publication stops no sync, and a subscriber
 * gets every change.
 */
import pg from 'pg'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { tables } from '../../schema/tables.ts'
import { openWarehouse } from '../../src/app/open.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { findDifferences, syncOnce } from '../mirror/sync/sync-sandbox.ts'
import { type PrivatePostgres, startPrivatePostgres } from '../support/postgres-server.ts'
import { sampled } from '../support/sampled.ts'

let server: PrivatePostgres
beforeAll(async () => {
  server = await startPrivatePostgres({ wal_level: 'logical', max_wal_senders: 10, fsync: 'off' })
})
afterAll(() => server.stop())

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

async function createWarehouse(name: string) {
  const administrator = await connect(server.url)
  await administrator.query(`create database ${name}`)
  const url = new URL(server.url)
  url.pathname = `/${name}`
  const warehouse = await openWarehouse(url.href)
  onTestFinished(() => warehouse.close())
  return { url: url.href, warehouse, client: await connect(url.href) }
}

/** Tables of a warehouse whose rows a publication could not tell. */
const withoutIdentity = `select relname as name from pg_class
  where relkind = 'r' and relnamespace = 'public'::regnamespace and relreplident <> 'f'
    and not exists (select 1 from pg_index where indrelid = pg_class.oid and indisprimary) order by relname`

test('every table has a primary key, or names all of its columns instead', async () => {
  const { client } = await createWarehouse('identities')
  expect((await client.query(withoutIdentity)).rows).toEqual([])
})

const publications = ['for all tables', 'for tables in schema public']

test.each(sampled(publications, (_, index) => index === 0))(
  'a subscriber of a publication %s gets what syncs write, update and delete',
  async (what) => {
    const name = what === 'for all tables' ? 'all_tables' : 'one_schema'
    const source = await createWarehouse(`source_of_${name}`)
    const copy = await createWarehouse(`copy_of_${name}`)
    // The rows that each warehouse begins with are those of the source.
    await copy.client.query(
      'truncate sync_schema, sync_installation, sync_sends, _metabase_metadata',
    )
    await source.client.query(`create publication ${name} ${what}`)
    await source.client.query(`select pg_create_logical_replication_slot('${name}', 'pgoutput')`)
    await copy.client.query(`create subscription ${name} connection '${source.url}' publication ${name}
      with (create_slot = false, slot_name = '${name}')`)
    onTestFinished(async () => {
      await copy.client.query(
        `alter subscription ${name} disable; alter subscription ${name} set (slot_name = none)`,
      )
      await copy.client.query(`drop subscription ${name}`)
    })

    const size = {
      conversations: 6,
      visitors: 4,
      calls: 2,
      messagesPerConversation: [1, 4],
      activityPerVisitor: 3,
      days: 1,
    } as const
    const sandbox = await startSandbox({ size, switches: { 'rate.kind': 'off' } })
    onTestFinished(() => sandbox.stop())
    // The columns of undocumented fields are no rows, so the copy is given them as a person would.
    const sync = async (mode: 'incremental' | 'reconcile') => {
      expect(
        await syncOnce(source.url, sandbox, { mode, project: { schema: 'freeze' } }),
      ).toMatchObject({
        outcome: 'complete',
      })
    }
    await sync('incremental')
    const [first, second] = [...sandbox.truth('conversations')].map(({ id }) => id!)
    sandbox.mutate.visitorWrites(first!, 'Hello?')
    sandbox.mutate.deleteConversation(second!)
    await sync('reconcile')

    const caughtUp = `select count(*)::int as behind from pg_stat_replication
      where replay_lsn is null or replay_lsn < pg_current_wal_lsn()`
    const names = Object.entries(tables).flatMap(([table, spec]) =>
      'storedIn' in spec ? [] : [table],
    )
    const rowsOf = async ({ client }: typeof source, table: string) => {
      const text = `select coalesce(array_agg(t::text order by t::text collate "C"), '{}') as rows from ${table} t`
      return (await client.query(text)).rows[0].rows
    }
    await expect.poll(async () => (await source.client.query(caughtUp)).rows[0].behind).toBe(0)
    for (const table of names)
      await expect
        .poll(() => rowsOf(copy, table), { message: table })
        .toEqual(await rowsOf(source, table))
    expect(await findDifferences(copy.warehouse, sandbox)).toEqual([])
  },
  60_000,
)
