/** A reconcile that was interrupted continues in the next one, unless it has become old. */

import { expect, test } from 'vitest'
import { openMirror } from '../../../src/app/facts.ts'
import { formatPendingRanges } from '../../../src/mirror/core/pagination/list-cursor.ts'
import { daySeconds } from '../../../src/values/time.ts'
import { findDifferences } from './sync-sandbox.ts'
import { withSandbox } from './with-sandbox.ts'

const lists = { conversations: 2, visitors: 6, calls: 0, days: 2 }
const size = { ...lists, messagesPerConversation: [1, 1], activityPerVisitor: 0 } as const
const streams = ['visitors'] as const

test.for([
  ['a day ago continues: what it had read is not read again', 1, 1],
  ['more than a week ago begins anew: what it had read may have changed since', 8, 0],
] as const)('one that began %s', async ([, days, differing]) => {
  await withSandbox({ seed: 1, size }, async ({ sandbox, warehouse, sync }) => {
    await sync({ streams })
    const mirror = openMirror(warehouse, sandbox.projectId)
    const [newest] = await warehouse.query('select max(synced_at) as at from visitors')
    const position = formatPendingRanges([{ lo: Date.parse(String(newest?.at)) / 1000, hi: null }])
    await mirror.writeCursor('visitors:whole', position)
    await mirror.writeCursor('visitors:whole:since', String(Date.now() - days * daySeconds * 1000))
    await warehouse.query(
      `insert into sync_seen_rows (project_id, scan, id) select project_id, 'visitors:whole', id from visitors`,
    )
    await warehouse.query(`update visitors set name = 'wrong', raw = json_set(raw, '$.name', 'wrong')
      where id = (select min(id) from visitors)`)
    await sync({ mode: 'reconcile', streams })
    expect(await findDifferences(warehouse, sandbox, undefined, ['visitors'])).toHaveLength(
      differing,
    )
  })
})

test('what was learned against the service holds no longer than until a reconcile, also for one that continues it', async () => {
  const options = { seed: 1, speed: 0, size: { ...size, visitors: 130 } }
  const ignored = {
    'pages.size': 60,
    'visitors.order': 'newest',
    'visitors.bound': 'ignored',
  } as const
  await withSandbox({ ...options, switches: ignored }, async ({ sandbox, warehouse, sync }) => {
    const learned = async () =>
      (await openMirror(warehouse, sandbox.projectId).readBehaviours()).get('visitors.since')
    await sync({ streams })
    expect(await learned()).toBe('ignored')
    sandbox.setSwitches({ 'visitors.order': 'oldest', 'visitors.bound': 'inclusive' })
    const abort = new AbortController()
    await sync({
      mode: 'reconcile',
      streams,
      signal: abort.signal,
      onProgress: () => abort.abort(),
    })
    expect(await sync({ mode: 'reconcile', streams })).toMatchObject({ outcome: 'complete' })
    expect(await learned()).toBe('unknown')
    expect(await sync({ streams })).toMatchObject({ outcome: 'complete' })
    expect(await findDifferences(warehouse, sandbox, undefined, ['visitors'])).toEqual([])
  })
})
