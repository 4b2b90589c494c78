/** The machine's uptime: a clock that is never set, and that keeps running while the machine is suspended. */
import { uptime } from 'node:os'
import type { EpochMs, Ms } from '../../core/time.ts'

type Clocks = {
  /** Reads a file in Linux, each time. */
  readonly uptime: () => Ms
  /** Stands still while the machine is suspended. */
  readonly running: () => Ms
  /** Can be set. */
  readonly wall: () => EpochMs
}

/** Below this the clocks differ by how each is rounded. */
const toleranceMs: Ms = 5

/**
 * The running clock tells how much uptime has passed, as long as the wall clock agrees: a suspension makes them differ, and
 * so does setting the wall clock. Then the uptime is read again.
 */
export function createUptimeClock({ uptime, running, wall }: Clocks): () => Ms {
  const read = () => ({ uptime: uptime(), running: running(), wall: wall() })
  let last = read()
  return () => {
    const ran = running() - last.running
    if (Math.abs(wall() - last.wall - ran) <= toleranceMs) return last.uptime + ran
    last = read()
    return last.uptime
  }
}

export const uptimeMs = createUptimeClock({
  uptime: () => uptime() * 1000,
  running: () => performance.now(),
  wall: () => Date.now(),
})
