/** A fault of the service that passes: for a while it answers for rows as if they did not exist. */
import { expect, test } from 'vitest'
import { databases } from '../../support/databases.ts'
import { sampled } from '../../support/sampled.ts'
import { commit, conversation } from '../../warehouse/row-fixtures.ts'
import { openTestWarehouse } from '../../warehouse/test-warehouse.ts'
import { findDifferences } from './sync-sandbox.ts'
import { withSandbox } from './with-sandbox.ts'

const lists = { conversations: 40, visitors: 30, calls: 30, days: 2 }
const size = { ...lists, messagesPerConversation: [1, 3], activityPerVisitor: [1, 2] } as const
const options = { seed: 1, size, switches: { 'recordings.none': '404' } } as const

const deleted = `select id from conversations where deleted_at is not null
  union all select conversation_id from messages where deleted_at is not null
  union all select id from visitors where deleted_at is not null union all select id from calls where deleted_at is not null`

for (const hidden of ['all', 'ids'] as const) {
  const where = hidden === 'all' ? 'lists are empty and ids are not found' : 'ids are not found'
  // The sample has each of the two on one of the databases.
  const chosen = sampled(databases, ({ name }) => (name === 'postgres') === (hidden === 'all'))
  test.for(chosen)(
    `nothing is marked while ${where}, and a reconcile ends the doubt — $name`,
    async (db) => {
      await withSandbox({ ...options, db }, async ({ sandbox, warehouse, sync }) => {
        await sync()
        // All children are due: what answers 404 for them asks for their parents.
        await warehouse.query('update sync_children set due_at = 1')
        sandbox.setSwitches({ 'missing.rows': hidden })
        const { length: known } = sandbox.log()
        for (let run = 1; run <= 3; run += 1) {
          const { outcome, notices } = await sync()
          expect(outcome).not.toBe('complete')
          if (run === 1)
            expect(notices).toContainEqual(
              expect.stringMatching(
                /^Nothing was marked as deleted, although the service no longer lists 26 of 40 mirrored conversations\. If they are really deleted, run `deskmirror sync --mode full`\.$/,
              ),
            )
          expect(await warehouse.query(deleted)).toEqual([])
        }
        const ofRows = sandbox
          .log()
          .slice(known)
          .filter(({ status }) => status === 404)
        const paths = ofRows.map(({ path }) => path)
        expect(paths.filter((path, n) => paths.indexOf(path) !== n)).toEqual([])
        sandbox.setSwitches({ 'missing.rows': 'none' })
        await sync({ mode: 'reconcile' })
        await warehouse.query('update sync_children set due_at = 1 where due_at is not null')
        expect(await sync()).toMatchObject({ outcome: 'complete', gaps: [] })
        expect(await findDifferences(warehouse, sandbox)).toEqual([])
      })
    },
  )
}

test('what a full sync has marked was meant so, and does not count later', async () => {
  await withSandbox(options, async ({ sandbox, warehouse, sync }) => {
    await sync()
    sandbox.applyRandomMutations(30, 1, ['deleteConversation'])
    expect(await sync({ mode: 'full' })).toMatchObject({ outcome: 'complete' })
    const before = (await warehouse.query(deleted)).length
    sandbox.applyRandomMutations(3, 2, ['deleteConversation'])
    expect(await sync({ mode: 'reconcile' })).toMatchObject({ outcome: 'complete' })
    expect((await warehouse.query(deleted)).length).toBeGreaterThan(before)
    expect(await findDifferences(warehouse, sandbox)).toEqual([])
  })
})

test('many small steps cannot mark what one sync may not', async () => {
  const { warehouse, mirror } = await openTestWarehouse(databases[0]!)
  const ids = Array.from({ length: 120 }, (_, n) => `c${n}`)
  await mirror.commit(
    commit(
      'conversations',
      ids.map((id) => conversation(id)),
    ),
  )
  for (const id of ids) await mirror.markDeleted('conversations', id, Date.UTC(2026, 5, 1))
  expect(await warehouse.query(deleted)).toEqual([])
  expect(await warehouse.query('select reason from sync_gaps where resolved_at is null')).toEqual([
    { reason: expect.stringContaining('no longer lists 31 of 120 mirrored conversations') },
  ])
})
