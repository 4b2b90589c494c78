/** The review that a page needs: one for all who ask for the same. */

import { expect, test } from 'vitest'
import { openMirror } from '../../../src/app/facts.ts'
import type { Warehouse } from '../../../src/app/open.ts'
import { readBatchData } from '../../../src/console/pages/batch.ts'
import { createReviews } from '../../../src/console/reviews.ts'
import { createOutbox } from '../../../src/outbox/sql/outbox.ts'
import { waitUntil } from '../../support/wait.ts'
import { commit, conversation } from '../../warehouse/row-fixtures.ts'
import { queueDrafts, replyTo } from '../queued-rows.ts'
import { startConsole } from './console-server.ts'
import { fillTargets } from './import-file.ts'

const rows = 1200
const targets = Array.from(
  { length: rows },
  (_, n) => `00000000-0000-4000-9000-${String(n).padStart(12, '0')}`,
)

async function fill(warehouse: Warehouse) {
  await fillTargets(warehouse)
  const conversations = targets.map((id) => conversation(id))
  await openMirror(warehouse, 'main').commit(commit('conversations', conversations))
  const replies = targets.map((target) => replyTo(target, `About ${target}`))
  await queueDrafts(warehouse, 'big', replies, { title: 'Big' })
}

/** `onRead`: called before each page of the batch is read. */
async function start(onRead: (batch: string) => void = () => {}) {
  const { warehouse, project } = await startConsole(fill)
  let reads = 0
  const counting = (id: string) => {
    const reader = createOutbox(warehouse.projectDb(id))
    const listBatch: typeof reader.listBatch = (...page) => {
      reads += 1
      onRead(page[0])
      return reader.listBatch(...page)
    }
    return { ...reader, listBatch }
  }
  const reviews = createReviews(async (id) => ({ outbox: counting(id), at: Date.now() }), Date.now)
  const ask = () => reviews.idsByOutcome(project, 'big', 'would_send')
  const page = (id: string) => {
    const request = {
      reads: { reviews },
      warehouse,
      outbox: createOutbox(warehouse.projectDb('main')),
      project,
      id,
    }
    return readBatchData({ ...request, query: () => null })
  }
  return { ask, page, reads: () => reads, warehouse }
}

test('ten who ask for the same at the same time, and who asks soon afterwards, share one', async () => {
  const alone = await start()
  expect(await alone.ask()).toHaveLength(rows)
  const { ask, reads } = await start()
  const all = await Promise.all(Array.from({ length: 10 }, () => ask()))
  expect(all.map((ids) => ids.length)).toEqual(Array(10).fill(rows))
  await ask()
  expect(reads()).toBe(alone.reads())
})

test('reviews of two batches follow one another', async () => {
  const alone = await start()
  await alone.ask()
  const order: string[] = []
  const { page, warehouse, ask } = await start((batch) => void order.push(batch))
  await queueDrafts(warehouse, 'small', [replyTo(targets[0]!, 'Hello')])
  await Promise.all([page('big'), page('small'), ask()])
  const all = 2 * alone.reads()
  await waitUntil(
    () => order.includes('small') && order.filter((batch) => batch === 'big').length === all,
  )
  // Before, between or after the two of the other batch.
  expect([0, all / 2, all]).toContain(order.indexOf('small'))
})
