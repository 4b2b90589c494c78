/**
 * A schedule is a number: the same seed gives the same events, whatever ran before it or runs
 * beside it.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type Database from 'better-sqlite3'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { uptimeMs } from '../../src/service/rate-limit/budget-store.ts'
import { toTimestamp } from '../../src/values/time.ts'
import { fastFolder } from '../support/fast-folder.ts'
import { sampled } from '../support/sampled.ts'
import { formatDigest } from './digest.ts'
import { findDifference } from './find-difference.ts'
import type { TraceLine } from './scheduler.ts'
import { createSimulatedDatabase } from './simulated-database.ts'
import { runReplay, simulatorTemplate } from './simulator-runs.ts'
import { addVirtualFunctions } from './virtual-sql.ts'
import { runSchedule } from './world.ts'

const folder = mkdtempSync(join(fastFolder(), 'deskmirror-simulator-'))
afterAll(() => rmSync(folder, { recursive: true }))

test('two schedules of each kind are the same again, in reverse order', async () => {
  const database = await openDatabase()
  // Of the other kind are the schedules of the next tests.
  for (const kind of sampled(['lists', 'any'] as const, (_, index) => index === 0))
    expect(await findDifference([0, 1], database, kind)).toBeNull()
})

test('schedules are the same in another process, and in another zone, and none reaches a clock, a timer, a random number or a thread of the machine', async ({
  signal,
}) => {
  const elsewhere = await runReplay(['--digests', '100', '2'], {
    signal,
    nodeOptions: ['--max-semi-space-size=1', '--import', './test/simulator/watch-platform.ts'],
    env: { TZ: 'Pacific/Kiritimati', LC_ALL: 'tr_TR.UTF-8' },
  })
  const database = await openDatabase()
  for (const seed of [100, 101]) {
    const { digest } = await runSchedule(seed, database)
    expect(elsewhere).toContain(`seed ${seed} has the digest ${formatDigest(digest)}\n`)
  }
})

test('a schedule is the same with a trace', async () => {
  const database = await openDatabase()
  // In the second, processes are suspended.
  for (const seed of [1, 30]) {
    const trace: TraceLine[] = []
    expect(await runSchedule(seed, database, { trace })).toEqual(await runSchedule(seed, database))
    expect(trace.length).toBeGreaterThan(100)
  }
})

test('what else runs in this process neither changes a schedule nor waits for it', async () => {
  const database = await openDatabase()
  const alone = await runSchedule(1, database)
  const schedule = { isOver: false }
  const beside = drawNumbersUntil(() => schedule.isOver)
  expect(await runSchedule(1, database)).toEqual(alone)
  schedule.isOver = true
  expect(await beside).toBeGreaterThan(0)
})

test('a clock that is not the schedule’s is noticed', async () => {
  let second = 0
  const database = await openDatabase((connection) => {
    addVirtualFunctions(connection)
    connection.function('strftime', { varargs: true }, () => toTimestamp(1000 * ++second))
  })
  const difference = await findDifference([0], database)
  expect(difference).toMatch(/^seed 0 differs from itself in event \d+ of \d+/)
  // The statement that has read it.
  expect(difference).toContain('1970-01-01T00:')
})

test('after a schedule the clocks of this process run on', async () => {
  await runSchedule(1, await openDatabase())
  const before = uptimeMs()
  await sleep(50)
  expect(uptimeMs() - before).toBeGreaterThanOrEqual(40)
})

async function openDatabase(addFunctions?: (connection: Database.Database) => void) {
  const database = createSimulatedDatabase(
    await simulatorTemplate(),
    join(folder, 'schedule.db'),
    addFunctions,
  )
  onTestFinished(database.close)
  return database
}

async function drawNumbersUntil(isOver: () => boolean): Promise<number> {
  let count = 0
  for (; !isOver(); count += 1) {
    Math.random()
    await sleep(1)
  }
  return count
}
