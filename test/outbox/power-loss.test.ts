/**
 * Simulates a power failure at each step of a send. The next process knows only the disk and the
 * service.
 */
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { openWarehouse } from '../../src/app/open.ts'
import { writebackDeps } from '../../src/app/push.ts'
import { openService } from '../../src/app/service.ts'
import type { WritebackDeps } from '../../src/outbox/handlers/operation-handler.ts'
import { sendQueued } from '../../src/outbox/send/push.ts'
import type { Outbox } from '../../src/outbox/sql/outbox.ts'
import { createMemoryStore } from '../../src/service/rate-limit/budget-store.ts'
import { createRequestBudget } from '../../src/service/rate-limit/request-budget.ts'
import { type Db, openKysely } from '../../src/warehouse/connection-pool.ts'
import { openSqlitePool } from '../../src/warehouse/sqlite.ts'
import { inDurableTransaction } from '../../src/warehouse/transactions.ts'
import { projectConfigOf, unlimited } from '../mirror/sync/sync-sandbox.ts'
import {
  createOutboxFixture,
  type OutboxFixture,
  performedWrites,
  type RequestLine,
} from './outbox-fixture.ts'

class PowerCut extends Error {}

/** Fails before or after the n-th durable write or request; null: never. */
function failing(
  n: number | null,
  deps: WritebackDeps,
): { readonly deps: WritebackDeps; readonly steps: () => number } {
  let steps = 0
  const step = () => {
    steps += 1
    if (n !== null && steps >= n) throw new PowerCut()
  }
  const around =
    <A extends readonly unknown[], R>(work: (...parameters: A) => Promise<R>) =>
    async (...parameters: A) => {
      step()
      const result = await work(...parameters)
      step()
      return result
    }
  const { outbox } = deps
  const watched: Outbox = {
    ...outbox,
    claim: around(outbox.claim),
    markSending: around(outbox.markSending),
    settleSent: around(outbox.settleSent),
    settle: around(outbox.settle),
  }
  const send: WritebackDeps['send'] = async (call, markSending) => {
    const answer = await deps.send(call, markSending)
    step()
    return answer
  }
  return { deps: { ...deps, outbox: watched, send }, steps: () => steps }
}

async function sendUntil(n: number | null, o: OutboxFixture, path: string): Promise<number> {
  const warehouse = await openWarehouse(`sqlite:${path}`)
  const project = projectConfigOf(o.sandbox, { verifyAfterMs: 50 })
  const budget = createRequestBudget(
    createMemoryStore({ rate: unlimited, writeRate: unlimited, reserve: 0, rateMargin: 0.02 }),
  )
  const log = pino({ level: 'silent' })
  const service = openService(project, budget, { signal: new AbortController().signal, log })
  const { deps, steps } = failing(n, await writebackDeps(warehouse, project, service, log))
  try {
    await sendQueued(deps, { maxConcurrentLanes: 1, despiteFailures: true, onProgress: () => {} })
  } catch (error) {
    if (!(error instanceof PowerCut)) throw error
  } finally {
    await service.close()
    await warehouse.close()
  }
  return steps()
}

/** Copies the database files. Every commit is on disk, so an open process makes no difference. */
function copied(path: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'deskmirror-power-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const copy = join(folder, 'desk.db')
  for (const end of ['', '-wal']) if (existsSync(path + end)) copyFileSync(path + end, copy + end)
  return copy
}

/** Simulates a reboot: every process that held a claim is dead. */
async function afterReboot(path: string): Promise<void> {
  const warehouse = await openWarehouse(`sqlite:${path}`)
  await warehouse.query(
    `update writebacks set owner = json_set(owner, '$.process', 'earlier/boot@1') where owner is not null`,
  )
  await warehouse.close()
}

const lines: Readonly<Record<string, (o: OutboxFixture) => RequestLine>> = {
  message: (o) => ({
    operation: 'message',
    conversation_id: o.conversation(0),
    content: 'Once.',
    sender_name: 'Ann',
  }),
  note: (o) => ({ operation: 'note', visitor_id: o.visitor(0), content: 'Once.' }),
}

for (const [operation, line] of Object.entries(lines)) {
  test(`${operation}: survives a power failure at each step of its send`, async () => {
    for (let n = 1, steps = 99; n <= steps; n++) {
      const o = await createOutboxFixture({
        mirrored: false,
        size: { conversations: 1, visitors: 1, calls: 0 },
      })
      await o.queue(line(o))
      const path = copied(o.instance.url!.slice('sqlite:'.length))
      const made = await sendUntil(n, o, path)
      if (made < n) steps = made
      const recoveredPath = copied(path)
      await afterReboot(recoveredPath)
      await sendUntil(null, o, recoveredPath)
      expect(performedWrites(o.sandbox).length, `after step ${n}`).toBeLessThanOrEqual(1)
      const recovered = await openWarehouse(`sqlite:${recoveredPath}`)
      const [row] = await recovered.query('select status from writebacks')
      await recovered.close()
      expect(operation === 'note' ? ['succeeded', 'uncertain'] : ['succeeded']).toContain(
        row!.status,
      )
      if (row!.status === 'succeeded')
        expect(performedWrites(o.sandbox), `after step ${n}`).toHaveLength(1)
    }
  })
}

test('each durable transaction waits for the disk, not only the first of a connection; mirror pages do not', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'deskmirror-disk-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const sessions = openSqlitePool(join(folder, 'desk.db'), {
    mustExist: false,
    synchronous: 'normal',
  })
  const db = openKysely(sessions)
  const [normal, full] = [1, 2]
  const level = async (on: Db) =>
    (await sql<{ synchronous: number }>`pragma synchronous`.execute(on)).rows[0]!.synchronous
  for (let n = 1; n <= 3; n += 1) {
    expect(
      await inDurableTransaction({ db, kind: 'sqlite' }, (trx) => level(trx.db)),
      `transaction ${n}`,
    ).toBe(full)
    expect(await level(db)).toBe(normal)
  }
  await db.destroy()
})
