/** The places where processes can share a budget, each as the tests need it: several connections, and ways to harm it. */
import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterAll, onTestFinished } from 'vitest'
import { openRedisRecords } from '../../../src/api/rate-limit/redis-record.ts'
import { createSharedStore, type SharedStoreOptions } from '../../../src/api/rate-limit/shared-store.ts'
import type { BudgetRecord, RecordReading } from '../../../src/core/rate-limit/budget-record.ts'
import { maxSwapDelayMs } from '../../../src/core/rate-limit/budget-record.ts'
import type { KeyUse } from '../../../src/core/rate-limit/key-use.ts'
import type { BudgetStore } from '../../../src/core/rate-limit/budget-store.ts'
import { databases } from '../../support/databases.ts'
import { startRedis } from '../../support/redis-server.ts'
import type { Server } from '../../support/private-server.ts'

export type TestRecord = {
  /** Another process's way to the one budget. */
  readonly connect: () => Promise<BudgetRecord>
  /** The record is gone. */
  readonly forget: () => Promise<void>
}

export type RecordStore = { readonly name: string; readonly make: () => Promise<TestRecord> }

let redis: Promise<Server> | undefined
afterAll(async () => (await redis)?.stop())

async function inRedis(): Promise<TestRecord> {
  redis ??= startRedis()
  const { url } = await redis
  const name = `test:${randomUUID()}`
  const cells = [openRedisRecords(url), openRedisRecords(url)]
  const admin = new Redis(url)
  onTestFinished(() => {
    for (const { close } of cells) close()
    admin.disconnect()
  })
  let next = 0
  return {
    connect: async () => cells[next++ % cells.length]!.record(name),
    forget: async () => void (await admin.del(`deskmirror:budget:${name}`)),
  }
}

async function inWarehouse(kind: 'sqlite' | 'postgres'): Promise<TestRecord> {
  const place = await databases.find(({ name }) => name === kind)!.make()
  onTestFinished(() => place.drop())
  const warehouses = [await place.open(), await place.open()]
  let next = 0
  return {
    connect: async () => warehouses[next++ % warehouses.length]!.budgetRecord('desk'),
    forget: async () => void (await warehouses[0]!.query('delete from sync_budgets')),
  }
}

export const recordStores: readonly RecordStore[] = [
  { name: 'Redis', make: inRedis },
  { name: 'Postgres', make: () => inWarehouse('postgres') },
  { name: 'SQLite', make: () => inWarehouse('sqlite') },
  { name: 'a variable', make: async () => inMemoryRecord() },
]

/** A cell whose clock and content are the test's to change. */
export function inMemoryRecord(clock: { now: number } = { now: 1e6 }) {
  let kept: { version: string; text: string } | null = null
  const state = { restarted: false, down: false }
  const look = (): RecordReading => {
    if (state.down) throw new Error('connection refused')
    // No two moments are the same.
    clock.now += 0.001
    return { now: clock.now, version: kept?.version ?? null, text: kept?.text ?? null, restarted: state.restarted }
  }
  const cell: BudgetRecord = {
    read: async () => look(),
    compareAndSet: async (seen, text) => {
      const { now, version } = look()
      const swapped = version === seen.version && now - seen.now <= maxSwapDelayMs
      if (!swapped) return { swapped, reading: look() }
      kept = { version: randomUUID(), text }
      state.restarted = false
      return { swapped, reading: look() }
    },
  }
  const forget = async () => {
    kept = null
  }
  return { cell, clock, state, connect: async () => cell, forget }
}

/** Writes whatever is given, as a restored backup would. */
export async function overwriteRecord(cell: BudgetRecord, text: string): Promise<void> {
  const { swapped } = await cell.compareAndSet(await cell.read(), text)
  if (!swapped) throw new Error('somebody else wrote meanwhile')
}

export const testPolicy = {
  rate: { requests: 100, windowMs: 60_000 },
  writeRate: { requests: 20, windowMs: 60_000 },
  reserve: 0,
}

/** Nobody used the key before. */
export const unusedKey: KeyUse = { isUnusedFor: async () => true, recordUse: async () => {} }

/** A process's store, and what it said was lost. */
export function createTestStore(cell: BudgetRecord, options: Partial<SharedStoreOptions> = {}) {
  const lost: string[] = []
  const store: BudgetStore = createSharedStore({
    policy: testPolicy,
    record: cell,
    keyUse: unusedKey,
    onClosed: (why) => lost.push(why),
    ...options,
  })
  return { store, lost }
}
