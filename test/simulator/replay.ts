/**
 * `node test/simulator/replay.ts SEED`: replays one schedule and prints its trace. With `SEED COUNT` it runs so many and
 * prints the trace of the first that fails; with `--all SEED COUNT` it names every seed that fails, without traces.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fastFolder } from '../support/fast-folder.ts'
import type { TraceLine } from './scheduler.ts'
import { createSimulatedDatabase } from './simulated-database.ts'
import { makeTemplate } from './template.ts'
import { formatTrace } from './trace.ts'
import { runSchedule } from './world.ts'

const print = (line: string) => process.stdout.write(`${line}\n`)

const [first = 0, count = 1] = process.argv
  .slice(2)
  .filter((word) => word !== '--all')
  .map(Number)
const isForAll = process.argv.includes('--all')
const folder = mkdtempSync(join(fastFolder(), 'deskmirror-simulator-'))
const template = join(folder, 'template.db')
await makeTemplate(template)
const database = createSimulatedDatabase(template, join(folder, 'schedule.db'))
const began = performance.now()
let [items, virtualMs] = [0, 0]
try {
  for (let seed = first; seed < first + count; seed += 1) {
    const result = await runSchedule(seed, database)
    items += result.items
    virtualMs += result.virtualMs
    const isBroken = result.failures.length > 0
    if (isBroken) process.exitCode = 1
    if (count === 1 || (isBroken && !isForAll)) {
      const trace: TraceLine[] = []
      await runSchedule(seed, database, trace)
      print(formatTrace(trace))
    }
    if (count === 1 || isBroken) print(`seed ${seed}: ${isBroken ? result.failures.join('; ') : 'every promise holds'}`)
    if (isBroken && !isForAll) break
  }
} finally {
  await database.close()
  rmSync(folder, { recursive: true })
}
print(
  `${items} items, ${Math.round(virtualMs / 1000)} s of virtual time in ${Math.round(performance.now() - began)} ms`,
)
