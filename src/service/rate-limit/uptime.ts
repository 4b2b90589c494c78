/** Time since the machine started, asked for with every request to the service. */
import { uptime } from 'node:os'
import type { EpochMs, Ms } from '../../values/time.ts'

/** Each is looked up when it is read, as a simulator replaces it. */
const systemClocks = {
  /** Keeps running while the machine is suspended, and is never set; reading it takes the system a file. */
  uptime: (): Ms => uptime() * 1000,
  /** Stands still while the machine is suspended. */
  running: (): Ms => performance.now(),
  /** Keeps running, and may be set. */
  wall: (): EpochMs => Date.now(),
}

/** Far less than any wait that depends on it, and more than what lies between the readings of two clocks. */
const toleranceMs = 20
const maxAgeMs = 1000

/**
 * Milliseconds of a clock that keeps running while the machine is suspended, and never goes back. Counted on from the
 * last reading as long as the other two clocks agree how much time has passed: after a suspension they differ. Where the
 * system's own uptime goes back, as it may when a virtual machine moves, it is counted on from the newest: a clock that
 * stood still until the system's has caught up would keep every request waiting for as long.
 */
export function createUptime(clocks = systemClocks): () => Ms {
  const read = () => ({ running: clocks.running(), wall: clocks.wall(), uptime: clocks.uptime() })
  let last = read()
  let newest = last.uptime
  let lost: Ms = 0
  return () => {
    const passed = clocks.running() - last.running
    const wasSuspendedOrSet = Math.abs(clocks.wall() - last.wall - passed) > toleranceMs
    const mustRead = wasSuspendedOrSet || passed > maxAgeMs
    if (mustRead) {
      const before = last
      last = read()
      if (last.uptime < before.uptime) lost = newest - last.uptime
      else if (last.uptime >= newest) lost = 0
    }
    newest = Math.max(newest, last.uptime + lost + (mustRead ? 0 : passed))
    return newest
  }
}
