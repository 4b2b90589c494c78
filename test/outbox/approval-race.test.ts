/**
 * An approval by digest while someone else inserts rows: on Postgres, whose statements see what was
 * committed between them.
 */
import pg from 'pg'
import { expect, test } from 'vitest'
import { databases } from '../support/databases.ts'
import { insertFlag, openOutbox, queueFlags } from './batch-fixture.ts'

const postgres = databases.filter(({ name }) => name === 'postgres')

for (const database of postgres) {
  test('a draft that is inserted during an approval was not shown, so it is not approved', async () => {
    const { place, warehouse, admin } = await openOutbox(database)
    const [, last] = await queueFlags(admin, 2, { status: 'draft' })
    const drafts = { batch: 'flags', statuses: ['draft'] } as const
    const { digest } = await admin.digestOf(drafts)
    const url = new URL(place.url ?? '')
    const table = `${url.searchParams.get('schema')}.writebacks`
    url.searchParams.delete('schema')
    const other = new pg.Client({ connectionString: url.href })
    await other.connect()
    await other.query('begin')
    await other.query(`select 1 from ${table} where id = $1 for update`, [last])
    // Reads the drafts, and waits for the locked one.
    const approval = admin.decide(
      'approved',
      { batch: 'flags' },
      { by: 'bea', shown: { filter: drafts, digest } },
    )
    const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    while ((await other.query(waiting)).rows.length === 0);
    await insertFlag(warehouse, { batch_id: 'flags', status: 'draft' })
    await other.query('commit')
    await other.end()
    expect(await approval).toMatchObject({ count: 2 })
    expect(await admin.countByStatus({})).toEqual({ queued: 2, draft: 1 })
  })
}
