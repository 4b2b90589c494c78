/** A reconcile that was interrupted continues in the next one, unless it has become old. */
import { expect, test } from 'vitest'
import { formatPendingRanges } from '../../src/core/pagination/pending-ranges.ts'
import { daySeconds } from '../../src/core/time.ts'
import { findDifferences } from './sync-sandbox.ts'
import { withSandbox } from './with-sandbox.ts'

const lists = { conversations: 6, visitors: 2, calls: 0, days: 2 }
const size = { ...lists, messagesPerConversation: [1, 1], activityPerVisitor: 0 } as const
const streams = ['conversations'] as const

test.for([
  ['a day ago continues: what it had read is not read again', 1, 1],
  ['more than a week ago begins anew: what it had read may have changed since', 8, 0],
] as const)('one that began %s', async ([, days, differing]) => {
  await withSandbox({ seed: 1, size }, async ({ sandbox, warehouse, sync }) => {
    await sync({ streams })
    const mirror = warehouse.mirror(sandbox.projectId)
    const [newest] = await warehouse.query('select max(last_message_at) as at from conversations')
    const position = formatPendingRanges([{ lo: Date.parse(String(newest?.at)) / 1000, hi: null }])
    await mirror.writeCursor('conversations:whole', position)
    await mirror.writeCursor('conversations:whole:since', String(Date.now() - days * daySeconds * 1000))
    await warehouse.query(
      `insert into sync_census (project_id, census, id) select project_id, 'conversations:whole', id from conversations`,
    )
    await warehouse.query(`update conversations set origin = 'wrong', raw = json_set(raw, '$.origin', 'wrong')
      where id = (select id from conversations where handled_at is null order by last_message_at limit 1)`)
    await sync({ mode: 'reconcile', streams })
    expect(await findDifferences(warehouse, sandbox, undefined, ['conversations'])).toHaveLength(differing)
  })
})
