/** Slows down guessing: after some wrong tokens from an address, it has to wait. */
import type { EpochMs, Ms } from '../../core/time.ts'

const allowed = 5
const windowMs: Ms = 60_000
const pauseMs: Ms = 30_000
/** More addresses than this at once are an attack, and all are slowed down. */
const maxAddresses = 1000

export function createAttempts() {
  const failures = new Map<string, EpochMs[]>()
  const recent = (address: string, now: EpochMs) => (failures.get(address) ?? []).filter((at) => now - at < windowMs)
  return {
    /** How long the address still has to wait. */
    waitMs: (address: string, now: EpochMs): Ms => {
      if (failures.size > maxAddresses && !failures.has(address)) return pauseMs
      const times = recent(address, now)
      return times.length < allowed ? 0 : Math.max(0, (times.at(-1) ?? 0) + pauseMs - now)
    },
    recordFailure: (address: string, now: EpochMs): void => {
      for (const [other, times] of failures) if (now - (times.at(-1) ?? 0) > windowMs) failures.delete(other)
      failures.set(address, [...recent(address, now), now].slice(-allowed))
    },
  }
}
