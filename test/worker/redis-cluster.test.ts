/**
 * Two workers sync and send on a Redis cluster while the master of their keys is killed: the mirror
 * is equal, each write is done once, the rate is never passed, and the schedules go on.
 */
import { expect, onTestFinished, test } from 'vitest'
import { readStatus } from '../../src/app/status.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { projectConfigOf } from '../mirror/sync/sync-sandbox.ts'
import { maxInWindow } from '../service/core/simulated-world.ts'
import { databases } from '../support/databases.ts'
import { startRedisCluster } from '../support/redis-groups.ts'
import { frequentSchedules, startWorkerInProcess, workerConfig } from './in-process-worker.ts'
import { waitUntilEqual } from './log-reader.ts'

const windowMs = 2000
const limit = 60
const writeLimit = 20
const replies = 30

test('a master is killed while workers sync and send', async () => {
  const cluster = await startRedisCluster()
  onTestFinished(cluster.stop)
  const location = await databases.find(({ name }) => name === 'postgres')!.make()
  onTestFinished(location.drop)
  const warehouse = await location.open()
  const size = { conversations: 40, visitors: 0, calls: 0, days: 2 }
  const switches = {
    'rate.kind': 'sliding',
    'rate.limit': limit,
    'rate.window': windowMs / 1000,
    'rate.writes': writeLimit,
  } as const
  const sandbox = await startSandbox({ size, switches })
  onTestFinished(sandbox.stop)
  const project = projectConfigOf(sandbox, {
    ...frequentSchedules,
    rate: { requests: limit, windowMs },
    writeRate: { requests: writeLimit, windowMs },
    verifyAfterMs: 500,
  })
  const stores = { ...location, databaseUrl: location.url!, queueUrl: cluster.url }
  const config = workerConfig(stores, [project])
  // The budget stays closed for most of a minute.
  const seldom = { maintenanceEveryMs: 5000 }
  const first = await startWorkerInProcess(config, seldom)
  await first.waitFor(({ event }) => event === 'sync.ended')
  const second = await startWorkerInProcess(config, seldom)
  const conversations = [...sandbox.truth('conversations')].map(({ id }) => id!)
  const rows = Array.from({ length: replies }, (_, n) => {
    const id = conversations[n % conversations.length]
    return `('${sandbox.projectId}', 'message', '${id}', '{"content":"reply ${n}","sender_name":"Ann"}')`
  })
  await warehouse.query(
    `insert into writebacks (project_id, operation, conversation_id, payload) values ${rows.join(', ')}`,
  )
  await first.waitFor(({ event }) => event === 'writeback.settled')
  await cluster.killMaster()
  const closed = await Promise.race(
    [first, second].map((worker) => worker.waitFor(({ event }) => event === 'budget.closed')),
  )
  expect(closed['project']).toBe(project.name)
  const killedAt = Date.now()
  sandbox.mutate.addConversation()
  const opened = await Promise.race(
    [first, second].map((worker) => worker.waitFor(({ event }) => event === 'budget.opened')),
  )
  // While the budget is closed, nothing is sent but what had a slot before. Workers ask every five
  // seconds whether it is open again, so it may have been so for a while.
  const openedAt = Date.parse(opened.time) - 5000
  const whileClosed = sandbox
    .log()
    .filter(({ arrivedAt: at }) => at > killedAt + windowMs && at < openedAt)
  expect(whileClosed).toEqual([])
  expect(JSON.stringify(await readStatus(config, project))).toContain(String(closed['why']))
  const settled = "select count(*) as n from writebacks where status = 'succeeded'"
  while (Number((await warehouse.query(settled))[0]?.n) < replies) await first.waitForNext()
  await waitUntilEqual(first, warehouse, sandbox)
  await first.waitFor(
    ({ event, time }) => event === 'sync.ended' && Date.parse(time) > killedAt + windowMs,
  )
  const sent = [...sandbox.truth('messages')].map(({ row }) => String(Object(row).content))
  const ofUs = sent.filter((content) => /^reply \d+$/.test(content))
  expect(ofUs.toSorted()).toEqual(
    Array.from({ length: replies }, (_, n) => `reply ${n}`).toSorted(),
  )
  const arrivals = sandbox.log().map(({ arrivedAt }) => arrivedAt)
  expect(maxInWindow(arrivals, windowMs)).toBeLessThanOrEqual(limit)
  expect(sandbox.counts().byStatus['429'] ?? 0).toBe(0)
})
