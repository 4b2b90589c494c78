/**
 * The stores in which processes can share a budget, with several connections, and with ways to
 * break them.
 */

import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { onTestFinished } from 'vitest'
import {
  type BudgetRecord,
  type KeyUse,
  maxSwapDelayMs,
  type RecordReading,
} from '../../../src/service/core/budget-record.ts'
import {
  type BudgetStore,
  createSharedStore,
} from '../../../src/service/rate-limit/budget-store.ts'
import { openRedisRecords } from '../../../src/service/rate-limit/redis-record.ts'
import { createBudgetRecord } from '../../../src/service/sql/budget-records.ts'
import { databases } from '../../support/databases.ts'
import type { Server } from '../../support/private-server.ts'
import { startRedis } from '../../support/redis-server.ts'

export type TestRecord = {
  /** The record, over the connection of another process. */
  readonly connect: () => Promise<BudgetRecord>
  /** Deletes the record. */
  readonly deleteRecord: () => Promise<void>
}

export type RecordStore = { readonly name: string; readonly make: () => Promise<TestRecord> }

/** For all test files of this process. It ends with the process. */
let redis: Promise<Server> | undefined

async function inRedis(): Promise<TestRecord> {
  redis ??= startRedis()
  const { url } = await redis
  const name = `test:${randomUUID()}`
  const connections = [openRedisRecords(url), openRedisRecords(url)]
  const admin = new Redis(url)
  onTestFinished(() => {
    for (const { close } of connections) close()
    admin.disconnect()
  })
  let next = 0
  return {
    connect: async () => connections[next++ % connections.length]!.record(name),
    deleteRecord: async () => void (await admin.del(`deskmirror:budget:${name}`)),
  }
}

async function inWarehouse(kind: 'sqlite' | 'postgres'): Promise<TestRecord> {
  const location = await databases.find(({ name }) => name === kind)!.make()
  onTestFinished(() => location.drop())
  const warehouses = [await location.open(), await location.open()]
  let next = 0
  return {
    connect: async () => createBudgetRecord(warehouses[next++ % warehouses.length]!, 'key'),
    deleteRecord: async () => void (await warehouses[0]!.query('delete from sync_budgets')),
  }
}

export const recordStores: readonly RecordStore[] = [
  { name: 'Redis', make: inRedis },
  { name: 'Postgres', make: () => inWarehouse('postgres') },
  { name: 'SQLite', make: () => inWarehouse('sqlite') },
  { name: 'a variable', make: async () => inMemoryRecord() },
]

/** A record in memory whose clock and content the test can change. */
export function inMemoryRecord(clock: { now: number } = { now: 1e6 }) {
  let stored: { version: string; text: string } | null = null
  const state = { restarted: false, down: false }
  const readNow = (): RecordReading => {
    if (state.down) throw new Error('connection refused')
    // No two readings have the same time.
    clock.now += 0.001
    return {
      now: clock.now,
      version: stored?.version ?? null,
      text: stored?.text ?? null,
      restarted: state.restarted,
    }
  }
  const record: BudgetRecord = {
    read: async () => readNow(),
    compareAndSet: async (seen, text) => {
      const { now, version } = readNow()
      const swapped = version === seen.version && now - seen.now <= maxSwapDelayMs
      if (!swapped) return { swapped, reading: readNow() }
      stored = { version: randomUUID(), text }
      state.restarted = false
      return { swapped, reading: readNow() }
    },
  }
  const deleteRecord = async () => {
    stored = null
  }
  return { record, clock, state, connect: async () => record, deleteRecord }
}

/** Overwrites the record, as a restored backup would. */
export async function overwriteRecord(record: BudgetRecord, text: string): Promise<void> {
  const { swapped } = await record.compareAndSet(await record.read(), text)
  if (!swapped) throw new Error('another process wrote meanwhile')
}

const windowMs = 60_000
export const testPolicy = {
  rate: { requests: 100, windowMs },
  writeRate: { requests: 20, windowMs },
  reserve: 0,
  rateMargin: 0.02,
}

/** No process used the key before. */
export const unusedKey: KeyUse = { isUnusedFor: async () => true, recordUse: async () => {} }

/** The store of one process, and the reasons for which it closed the budget. */
export function createTestStore(
  record: BudgetRecord,
  options: Partial<Parameters<typeof createSharedStore>[0]> = {},
) {
  const lost: (string | null)[] = []
  const store: BudgetStore = createSharedStore({
    policy: testPolicy,
    record,
    keyUse: unusedKey,
    onClosed: (why) => lost.push(why),
    ...options,
  })
  return { store, lost }
}
