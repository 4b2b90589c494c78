/** The places where processes can share a budget, each as the tests need it: several connections, and ways to harm it. */
import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import { afterAll, onTestFinished } from 'vitest'
import { openRedis } from '../../src/api/redis-cell.ts'
import { createSharedStore, type SharedStoreOptions } from '../../src/api/shared-store.ts'
import type { BudgetCell, Reading } from '../../src/core/budget/cell.ts'
import { swapWithinMs } from '../../src/core/budget/cell.ts'
import type { KeyUse } from '../../src/core/budget/key-use.ts'
import type { BudgetStore } from '../../src/core/budget/store.ts'
import { databases } from '../support/databases.ts'
import { startRedis } from '../support/redis-server.ts'
import type { Server } from '../support/server.ts'

export type Kept = {
  /** Another process's way to the one budget. */
  readonly connect: () => Promise<BudgetCell>
  /** The record is gone. */
  readonly forget: () => Promise<void>
}

export type Keeper = { readonly name: string; readonly make: () => Promise<Kept> }

let redis: Promise<Server> | undefined
afterAll(async () => (await redis)?.stop())

async function inRedis(): Promise<Kept> {
  redis ??= startRedis()
  const { url } = await redis
  const name = `test:${randomUUID()}`
  const cells = [openRedis(url), openRedis(url)]
  const admin = new Redis(url)
  onTestFinished(() => {
    for (const { close } of cells) close()
    admin.disconnect()
  })
  let next = 0
  return {
    connect: async () => cells[next++ % cells.length]!.cell(name),
    forget: async () => void (await admin.del(`deskmirror:budget:${name}`)),
  }
}

async function inWarehouse(kind: 'sqlite' | 'postgres'): Promise<Kept> {
  const place = await databases.find(({ name }) => name === kind)!.make()
  onTestFinished(() => place.drop())
  const warehouses = [await place.open(), await place.open()]
  let next = 0
  return {
    connect: async () => warehouses[next++ % warehouses.length]!.budgetCell('desk'),
    forget: async () => void (await warehouses[0]!.query('delete from sync_budgets')),
  }
}

export const keepers: readonly Keeper[] = [
  { name: 'Redis', make: inRedis },
  { name: 'Postgres', make: () => inWarehouse('postgres') },
  { name: 'SQLite', make: () => inWarehouse('sqlite') },
  { name: 'a variable', make: async () => inVariable() },
]

/** A cell whose clock and content are the test's to change. */
export function inVariable(clock: { now: number } = { now: 1e6 }) {
  let kept: { version: string; text: string } | null = null
  const state = { restarted: false, down: false }
  const look = (): Reading => {
    if (state.down) throw new Error('connection refused')
    // No two moments are the same.
    clock.now += 0.001
    return { now: clock.now, version: kept?.version ?? null, text: kept?.text ?? null, restarted: state.restarted }
  }
  const cell: BudgetCell = {
    read: async () => look(),
    swap: async (seen, text) => {
      const { now, version } = look()
      const swapped = version === seen.version && now - seen.now <= swapWithinMs
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
export async function overwrite(cell: BudgetCell, text: string): Promise<void> {
  const { swapped } = await cell.swap(await cell.read(), text)
  if (!swapped) throw new Error('somebody else wrote meanwhile')
}

export const policy = {
  rate: { requests: 100, windowMs: 60_000 },
  writeRate: { requests: 20, windowMs: 60_000 },
  reserve: 0,
}

/** Nobody used the key before. */
export const neverUsed: KeyUse = { isQuiet: async () => true, note: async () => {} }

/** A process's store, and what it said was lost. */
export function storeOver(cell: BudgetCell, options: Partial<SharedStoreOptions> = {}) {
  const lost: string[] = []
  const store: BudgetStore = createSharedStore({
    policy,
    cell,
    use: neverUsed,
    onLost: (why) => lost.push(why),
    ...options,
  })
  return { store, lost }
}
