/** Runs many schedules in a test. A failure names the seed, the command that replays it alone, and the end of its trace. */
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fastFolder } from '../support/fast-folder.ts'
import type { TraceLine } from './scheduler.ts'
import { createSimulatedDatabase } from './simulated-database.ts'
import { makeTemplate } from './template.ts'
import { formatTrace } from './trace.ts'
import { runSchedule } from './world.ts'

const traceLines = 200

/** Throws at the first schedule that breaks a promise. */
export async function runSchedules(first: number, count: number): Promise<void> {
  const folder = mkdtempSync(join(fastFolder(), 'deskmirror-simulator-'))
  const template = join(folder, 'template.db')
  await makeTemplate(template)
  const database = createSimulatedDatabase(template, join(folder, 'schedule.db'))
  try {
    for (let seed = first; seed < first + count; seed += 1) {
      const { failures } = await runSchedule(seed, database)
      if (failures.length === 0) continue
      const trace: TraceLine[] = []
      await runSchedule(seed, database, trace)
      throw new Error(describeFailure(seed, failures, trace))
    }
  } finally {
    await database.close()
    rmSync(folder, { recursive: true })
  }
}

function describeFailure(seed: number, failures: readonly string[], trace: readonly TraceLine[]): string {
  const command = `replay it with \`node test/simulator/replay.ts ${seed}\``
  return [`seed ${seed}: ${failures.join('\n')}`, command, formatTrace(trace.slice(-traceLines))].join('\n\n')
}
