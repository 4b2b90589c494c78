/** A worker's life, as whoever runs it sees it: the process, the service and the warehouse, on each kind of queue. */
import { expect, onTestFailed, test } from 'vitest'
import type { MutationKind } from '../../../src/sandbox/random-mutations.ts'
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts'
import type { Warehouse } from '../../../src/warehouse/open.ts'
import { findDifferences } from '../../sync/sync-sandbox.ts'
import { workerStores } from './fixtures.ts'
import { startWorkerProcess } from './worker-process.ts'
import type { LogLine, LogReader } from './log-reader.ts'

const size = {
  conversations: 130,
  visitors: 40,
  calls: 30,
  messagesPerConversation: [1, 6],
  activityPerVisitor: [0, 4],
  days: 5,
} as const

/** What shows in the lists at once, unless it is a second change within one second: that one shows two minutes later. */
const visible: readonly MutationKind[] = ['visitorWrites', 'agentReplies', 'addConversation', 'addVisitor', 'addCall']

/** Changes one after the other: of those that share the last second, none would be known to be over. */
function change(sandbox: Sandbox, count: number): void {
  for (let nth = 0; nth < count; nth += 1) {
    sandbox.advance(2000)
    sandbox.applyRandomMutations(1, nth, visible)
  }
}

/** Resolves when the mirror equals the service. */
async function equal(worker: LogReader, warehouse: Warehouse, sandbox: Sandbox): Promise<void> {
  let differences = await findDifferences(warehouse, sandbox)
  onTestFailed(() => void process.stderr.write(`What differs: ${JSON.stringify(differences.slice(0, 5))}\n`))
  while (differences.length > 0) {
    await worker.waitForNext()
    differences = await findDifferences(warehouse, sandbox)
  }
}

const began = ({ time, took_ms }: LogLine) => Date.parse(time) - Number(took_ms)

/** The conversations whose messages were asked for. */
const reread = (sandbox: Sandbox) =>
  sandbox.log().flatMap(({ path }) => path.match(/conversations\/([^/]+)\/messages/)?.[1] ?? [])

for (const { kind, make } of workerStores) {
  test(`a worker mirrors, follows, stops when told, and goes on where it was — ${kind}`, async () => {
    const office = await make()
    const sandbox = await startSandbox({ seed: 5, size, switches: { 'rate.kind': 'off', 'latency.after': 5 } })
    const warehouse = await office.open()
    try {
      const first = startWorkerProcess(office, sandbox)
      await equal(first, warehouse, sandbox)
      // Said before anything is opened: that can take a while.
      expect(first.log[0]).toMatchObject({ event: 'worker.starting', queue: kind })

      // The first round after a change sees all of it.
      const changedAt = Date.now()
      change(sandbox, 40)
      await equal(first, warehouse, sandbox)
      const seen = first.log.filter((it) => it.stream === 'conversations' && began(it) > changedAt && it.changed !== 0)
      expect(seen.length).toBeLessThanOrEqual(1)

      // Told to stop in the middle of its work, it ends well, and soon.
      sandbox.setSwitches({ 'latency.after': 150 })
      const changedAgainAt = Date.now()
      change(sandbox, 60)
      const { id: newest } = sandbox.mutate.addConversation()
      await first.waitFor(
        ({ event, stream, changed, time }) =>
          event === 'pass.ended' && stream === 'conversations' && changed !== 0 && Date.parse(time) > changedAgainAt,
      )
      first.child.kill('SIGTERM')
      const toldAt = performance.now()
      expect(await first.ended).toBe(0)
      expect(performance.now() - toldAt).toBeLessThan(10_000)
      expect(first.log.filter(({ level }) => level === 'error' || level === 'fatal')).toEqual([])
      expect(await warehouse.query('select 1 from sync_runs where finished_at is null')).toEqual([])

      // The next one reads what is missing, and nothing that was read: but for what showed nothing after itself, as its last
      // second may not have been over. (What is young is read once more when what is late has come, minutes from now.)
      const behind = new Set((await findDifferences(warehouse, sandbox)).map(({ key }) => key.split('/')[0]!))
      expect(behind.size).toBeGreaterThan(0)
      const doubted = await warehouse.query(
        `select parent_id from sync_children where stream = 'messages' and fetched = wanted and due_at < ${Date.now() + 60_000}`,
      )
      expect(doubted.length).toBeLessThan(5)
      for (const { parent_id } of doubted) behind.add(String(parent_id))
      sandbox.setSwitches({ 'latency.after': 1 })
      sandbox.resetLog()
      const second = startWorkerProcess(office, sandbox)
      await equal(second, warehouse, sandbox)
      const read = reread(sandbox).filter((id) => id !== newest)
      expect(read.filter((id) => !behind.has(id))).toEqual([])
      expect(new Set(read).size).toBe(read.length)
      second.child.kill('SIGTERM')
      expect(await second.ended).toBe(0)
    } finally {
      await sandbox.stop()
      await office.drop()
    }
  }, 60_000)
}
