/** Returns memory to the system while nothing happens. */
import { type EventLoopUtilization, performance } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * V8 collects garbage when a thread allocates. A thread that has become quiet allocates little, and would keep for hours
 * what its work left behind. Takes some tens of milliseconds, in which the thread does nothing else.
 */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  if (typeof collect === 'function') collect({ type: 'major', flavor: 'last-resort' })
}

const checkMs = 30_000

/** The share of the time in which the thread may work and still counts as quiet. */
const quietShare = 0.05

/** Below that growth nothing is worth a collection. */
const worthBytes = 3e6

/** Collects what was left behind once the thread is quiet. Returns a function that ends it. */
export function collectGarbageWhenQuiet(): () => void {
  let before: EventLoopUtilization = performance.eventLoopUtilization()
  let usedBytes = 0
  const check = () => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, before)
    before = now
    if (utilization > quietShare || process.memoryUsage().heapUsed < usedBytes + worthBytes) return
    collectGarbage()
    usedBytes = process.memoryUsage().heapUsed
  }
  const timer = setInterval(check, checkMs).unref()
  return () => clearInterval(timer)
}
