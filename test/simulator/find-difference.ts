/**
 * Runs schedules twice, the second time in reverse order, and finds the first event in which one
 * differs from itself.
 */
import { createRecording, type Event, type Recording } from './digest.ts'
import type { WorldKind } from './scheduler.ts'
import type { SimulatedDatabase } from './simulated-database.ts'
import { runSchedule } from './world.ts'

/** A sentence about the first one; null if there is none. */
export async function findDifference(
  seeds: readonly number[],
  database: SimulatedDatabase,
  kind: WorldKind = 'any',
): Promise<string | null> {
  const recordings = new Map<number, Recording>()
  for (const seed of seeds) {
    const recording = createRecording(false)
    await runSchedule(seed, database, { recording }, kind)
    recordings.set(seed, recording)
  }
  for (const seed of seeds.toReversed()) {
    const recording = createRecording(true)
    await runSchedule(seed, database, { recording }, kind)
    const difference = compare(recordings.get(seed)?.digests ?? [], recording)
    if (difference !== null) return `seed ${seed} differs from itself ${difference}`
  }
  return null
}

function compare(first: readonly number[], { digests, events }: Recording): string | null {
  const place = digests.findIndex((digest, n) => digest !== first[n])
  if (place < 0)
    return first.length === digests.length ? null : `in its end, after ${digests.length} events`
  const shown = (events ?? []).slice(Math.max(0, place - 3), place + 1).map(describeEvent)
  return `in event ${place + 1} of ${digests.length}, the last of these in the second run:\n${shown.join('\n')}`
}

const maxCharacters = 4000

function describeEvent(event: Event): string {
  const text = JSON.stringify(event, (_, value) =>
    typeof value === 'bigint' ? String(value) : value,
  )
  return `  ${text.replace(/(\\n| )+/g, ' ').slice(0, maxCharacters)}`
}
