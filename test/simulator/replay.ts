/**
 * `node test/simulator/replay.ts SEED`: replays one schedule and prints its trace. With `SEED
 * COUNT` it runs so many and prints the trace of the first that fails; with `--all SEED COUNT` it
 * names every seed that fails, without traces. `--digests SEED COUNT` also prints the digest of
 * each, to compare machines and versions. `--twice SEED COUNT` only tells whether a schedule
 * differs from itself, and where first. `--lists`: worlds with lists of all kinds, whose reading is
 * ended at any request; `--undisturbed-lists`: the same ones without that. `--template=PATH`: see
 * `makeTemplate`.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fastFolder } from '../support/fast-folder.ts'
import { formatDigest } from './digest.ts'
import { findDifference } from './find-difference.ts'
import type { RunRecords, TraceLine } from './scheduler.ts'
import { createSimulatedDatabase, type SimulatedDatabase } from './simulated-database.ts'
import { makeTemplate } from './template.ts'
import { formatTrace } from './trace.ts'
import { runSchedule, type ScheduleResult } from './world.ts'

const print = (line: string) => process.stdout.write(`${line}\n`)

const words = process.argv.slice(2)
const [first = 0, count = 1] = words.filter((word) => !word.startsWith('--')).map(Number)
const seeds = Array.from({ length: count }, (_, n) => first + n)
const has = (option: string) => words.includes(option)
const kind = has('--lists') ? 'lists' : has('--undisturbed-lists') ? 'undisturbed lists' : 'any'

if (has('--twice')) await inDatabase(runTwice)
else await inDatabase(runOnce)

async function inDatabase(work: (database: SimulatedDatabase) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(fastFolder(), 'deskmirror-simulator-'))
  try {
    const given = words.find((word) => word.startsWith('--template='))?.slice('--template='.length)
    const template = given ?? join(folder, 'template.db')
    if (given === undefined) await makeTemplate(template)
    const database = createSimulatedDatabase(template, join(folder, 'schedule.db'))
    await work(database).finally(database.close)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function runOnce(database: SimulatedDatabase): Promise<void> {
  const began = performance.now()
  const records: RunRecords = count === 1 || has('--digests') ? {} : { digest: 'none' }
  let [items, virtualMs] = [0, 0]
  for (const seed of seeds) {
    const result = await runSchedule(seed, database, records, kind)
    items += result.items
    virtualMs += result.virtualMs
    const isBroken = result.failures.length > 0
    if (isBroken) process.exitCode = 1
    if (has('--digests')) print(`seed ${seed} has the digest ${formatDigest(result.digest)}`)
    if (count === 1 || (isBroken && !has('--all'))) await printTrace(result, database, records)
    if (count === 1 || isBroken)
      print(`seed ${seed}: ${isBroken ? result.failures.join('; ') : 'every promise holds'}`)
    if (isBroken && !has('--all')) break
  }
  const tookMs = Math.round(performance.now() - began)
  print(`${items} items, ${Math.round(virtualMs / 1000)} s of virtual time, in ${tookMs} ms`)
}

async function printTrace(
  { seed, items, digest }: ScheduleResult,
  database: SimulatedDatabase,
  records: RunRecords,
) {
  const trace: TraceLine[] = []
  const traced = await runSchedule(seed, database, { ...records, trace }, kind)
  print(formatTrace(trace))
  if (traced.digest === digest && traced.items === items) return
  process.exitCode = 1
  print(`This is the trace of another run: seed ${seed} differs from itself, see --twice`)
}

async function runTwice(database: SimulatedDatabase): Promise<void> {
  const difference = await findDifference(seeds, database, kind)
  if (difference !== null) process.exitCode = 1
  print(difference ?? `${count} schedules are the same twice`)
}
