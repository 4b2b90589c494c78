/**
 * Waits for what a test cannot await. No test has a limit of its own: a busy machine may take
 * thirty times as long as a quiet one, and only what never happens is a fault.
 */
import { vi } from 'vitest'

const polling = { interval: 20, timeout: 120_000 }

/** Waits until `condition` returns something true, which it returns. */
export function waitUntil<Value>(condition: () => Value | Promise<Value>) {
  return vi.waitUntil(condition, polling)
}

/** Waits until `work` does not throw, and returns what it returns. */
export function waitFor<Value>(work: () => Value | Promise<Value>) {
  return vi.waitFor(work, polling)
}
