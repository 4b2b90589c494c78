/**
 * The life cycle of a worker process, with the service and the warehouse, on each kind of queue.
 */

import { expect, test } from 'vitest'
import type { Warehouse } from '../../src/app/open.ts'
import type { MutationKind } from '../../src/sandbox/mutations.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { createAuditLog } from '../../src/warehouse/audit-log.ts'
import { findDifferences } from '../mirror/sync/sync-sandbox.ts'
import { sampled } from '../support/sampled.ts'
import { workerStores } from './fixtures.ts'
import { type LogLine, waitUntilEqual } from './log-reader.ts'
import { startWorkerProcess } from './worker-process.ts'

const size = {
  conversations: 25,
  visitors: 8,
  calls: 6,
  messagesPerConversation: [1, 6],
  activityPerVisitor: [0, 4],
  days: 5,
} as const

/**
 * Changes that the lists show at once, except a second change within one second, which they show
 * two minutes later.
 */
const visible: readonly MutationKind[] = [
  'visitorWrites',
  'agentReplies',
  'addConversation',
  'addVisitor',
  'addCall',
]

/**
 * Changes with distinct times: of changes that share the last second, none is known to be complete.
 */
function change(sandbox: Sandbox, count: number): void {
  for (let nth = 0; nth < count; nth += 1) {
    sandbox.advance(2000)
    sandbox.applyRandomMutations(1, nth, visible)
  }
}

const startTime = ({ time, took_ms }: LogLine) => Date.parse(time) - Number(took_ms)

/** The conversations whose messages were requested. */
const requestedConversations = (sandbox: Sandbox) =>
  sandbox.log().flatMap(({ path }) => path.match(/conversations\/([^/]+)\/messages/)?.[1] ?? [])

/**
 * Signs in to the worker's console by a one-time link, and leaves the connection of its page open.
 */
async function openConsole(address: string, { db }: Warehouse): Promise<void> {
  await createAuditLog(db).storeLink('code', 60_000, Date.now())
  const body = new URLSearchParams({ name: 'ann', code: 'code' })
  const headers = { origin: address }
  const signedIn = await fetch(`${address}/console/sign-in`, {
    method: 'POST',
    body,
    headers,
    redirect: 'manual',
  })
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? ''
  const page = await fetch(`${address}/console/p/default`, { headers: { cookie } })
  expect(page.status).toBe(200)
}

// The queue in the process is started, stopped and started again in `embedded-queue.test.ts`.
for (const { kind, make } of sampled(workerStores, ({ kind }) => kind === 'redis')) {
  test(`a worker mirrors, follows changes, stops on request, and continues where it stopped — ${kind}`, async () => {
    const stores = await make()
    const sandbox = await startSandbox({
      seed: 5,
      size,
      switches: { 'rate.kind': 'off', 'latency.after': 5 },
    })
    const warehouse = await stores.open()
    try {
      const first = startWorkerProcess(stores, sandbox)
      await waitUntilEqual(first, warehouse, sandbox)
      // Logged before anything is opened, which can take a while.
      expect(first.log[0]).toMatchObject({ event: 'worker.starting', queue: kind.split(',')[0] })

      // The first sync after the changes reads all of them.
      const changedAt = Date.now()
      change(sandbox, 12)
      await waitUntilEqual(first, warehouse, sandbox)
      const seen = first.log.filter(
        (line) =>
          line.stream === 'conversations' && startTime(line) > changedAt && line.changed !== 0,
      )
      expect(seen.length).toBeLessThanOrEqual(1)

      // On SIGTERM during its work it exits cleanly and soon.
      const { address } = await first.waitFor(({ event }) => event === 'http.opened')
      await openConsole(String(address), warehouse)
      sandbox.setSwitches({ 'latency.after': 150 })
      const changedAgainAt = Date.now()
      change(sandbox, 25)
      const { id: newest } = sandbox.mutate.addConversation()
      await first.waitFor(
        ({ event, stream, changed, time }) =>
          event === 'sync.ended' &&
          stream === 'conversations' &&
          changed !== 0 &&
          Date.parse(time) > changedAgainAt,
      )
      first.child.kill('SIGTERM')
      expect(await first.ended).toBe(0)
      const [counted] = await warehouse.query(
        'select sum(requests) as requests from budget_minutes',
      )
      expect(Number(counted?.requests)).toBeGreaterThan(45)
      expect(first.log.filter(({ level }) => level === 'error' || level === 'fatal')).toEqual([])
      expect(await warehouse.query('select 1 from sync_runs where finished_at is null')).toEqual([])

      // The next worker reads only what is missing, and children whose last second may not have
      // been complete when they were read, or that were read just before the list showed their
      // change. (Young rows are read once more minutes later, when late changes have arrived.)
      const behind = new Set(
        (await findDifferences(warehouse, sandbox)).map(({ key }) => key.split('/')[0]!),
      )
      expect(behind.size).toBeGreaterThan(0)
      const due = await warehouse.query(
        `select parent_id from sync_children where stream = 'messages' and due_at < ${Date.now() + 60_000}`,
      )
      const uncertain = due
        .map(({ parent_id }) => String(parent_id))
        .filter((id) => !behind.has(id))
      expect(uncertain.length).toBeLessThan(5)
      for (const id of uncertain) behind.add(id)
      sandbox.setSwitches({ 'latency.after': 1 })
      sandbox.resetLog()
      const second = startWorkerProcess(stores, sandbox)
      await waitUntilEqual(second, warehouse, sandbox)
      const read = requestedConversations(sandbox).filter((id) => id !== newest)
      expect(read.filter((id) => !behind.has(id))).toEqual([])
      expect(new Set(read).size).toBe(read.length)
      second.child.kill('SIGTERM')
      expect(await second.ended).toBe(0)
    } finally {
      await sandbox.stop()
      await stores.drop()
    }
  })
}
