/** A schedule is a number: the same seed gives the same trace, whatever ran before it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fastFolder } from '../support/fast-folder.ts'
import type { TraceLine } from './scheduler.ts'
import { createSimulatedDatabase } from './simulated-database.ts'
import { makeTemplate } from './template.ts'
import { formatTrace } from './trace.ts'
import { runSchedule } from './world.ts'

test('a schedule is the same alone, again, and after others', async () => {
  const folder = mkdtempSync(join(fastFolder(), 'deskmirror-simulator-'))
  const template = join(folder, 'template.db')
  await makeTemplate(template)
  const traceOf = async (seed: number, ...before: readonly number[]) => {
    const database = createSimulatedDatabase(template, join(folder, 'schedule.db'))
    for (const other of before) await runSchedule(other, database)
    const trace: TraceLine[] = []
    await runSchedule(seed, database, trace)
    await database.close()
    return formatTrace(trace)
  }
  for (const seed of [1, 2, 3]) {
    const alone = await traceOf(seed)
    expect(await traceOf(seed)).toBe(alone)
    expect(await traceOf(seed, 7, 8, 9)).toBe(alone)
  }
  rmSync(folder, { recursive: true })
})
