/** A schedule is a number: the same seed gives the same trace, whatever ran before it or runs beside it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { uptimeMs } from '../../src/api/rate-limit/uptime.ts'
import { fastFolder } from '../support/fast-folder.ts'
import type { TraceLine } from './scheduler.ts'
import { createSimulatedDatabase } from './simulated-database.ts'
import { makeTemplate } from './template.ts'
import { formatTrace } from './trace.ts'
import { runSchedule } from './world.ts'

const folder = mkdtempSync(join(fastFolder(), 'deskmirror-simulator-'))
const template = join(folder, 'template.db')
beforeAll(() => makeTemplate(template))
afterAll(() => rmSync(folder, { recursive: true }))

test('a schedule is the same alone, again, and after others', async () => {
  for (const seed of [1, 2, 3]) {
    const alone = await traceOf(seed)
    expect(await traceOf(seed)).toBe(alone)
    expect(await traceOf(seed, 7, 8, 9)).toBe(alone)
  }
})

test('what else runs in this process neither changes a schedule nor waits for it', async () => {
  const alone = await traceOf(1)
  const schedule = { isOver: false }
  const beside = drawNumbersUntil(() => schedule.isOver)
  expect(await traceOf(1)).toBe(alone)
  schedule.isOver = true
  expect(await beside).toBeGreaterThan(0)
})

async function traceOf(seed: number, ...before: readonly number[]): Promise<string> {
  const database = createSimulatedDatabase(template, join(folder, 'schedule.db'))
  for (const other of before) await runSchedule(other, database)
  const trace: TraceLine[] = []
  await runSchedule(seed, database, trace)
  await database.close()
  return formatTrace(trace)
}

async function drawNumbersUntil(isOver: () => boolean): Promise<number> {
  let count = 0
  for (; !isOver(); count += 1) {
    Math.random()
    await sleep(1)
  }
  return count
}

test('after a schedule the clock of budgets runs again', async () => {
  await traceOf(1)
  const before = uptimeMs()
  await sleep(50)
  expect(uptimeMs() - before).toBeGreaterThanOrEqual(40)
})
