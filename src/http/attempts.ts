/** Slows down guessing: after some wrong tokens from an address, it has to wait, wherever it sent them. */
import type { EpochMs, Ms } from '../core/time.ts'

const allowed = 5
const windowMs: Ms = 60_000
const pauseMs: Ms = 30_000
/** More addresses than this at once are an attack, and all are slowed down. */
const maxAddresses = 1000

export type Attempts = ReturnType<typeof createAttempts>

export function createAttempts() {
  const failures = new Map<string, EpochMs[]>()
  const recent = (network: string, now: EpochMs) => (failures.get(network) ?? []).filter((at) => now - at < windowMs)
  return {
    /** How long the address still has to wait. */
    waitMs: (address: string, now: EpochMs): Ms => {
      const network = networkOf(address)
      if (failures.size > maxAddresses && !failures.has(network)) return pauseMs
      const times = recent(network, now)
      return times.length < allowed ? 0 : Math.max(0, (times.at(-1) ?? 0) + pauseMs - now)
    },
    recordFailure: (address: string, now: EpochMs): void => {
      for (const [other, times] of failures) if (now - (times.at(-1) ?? 0) > windowMs) failures.delete(other)
      const network = networkOf(address)
      failures.set(network, [...recent(network, now), now].slice(-allowed))
    },
  }
}

export function tooManyText(waitMs: Ms): string {
  return `Too many wrong tokens. Try again in ${Math.ceil(waitMs / 1000)} s.`
}

/** A machine with IPv6 has 2^64 addresses, which begin alike. An IPv4 address stays as it is. */
function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '')
  if (!plain.includes(':')) return plain
  const [head = '', tail = ''] = plain.split('::')
  const [first, last] = [head.split(':').filter(Boolean), tail.split(':').filter(Boolean)]
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => '0')
  return [...first, ...zeros, ...last].slice(0, 4).join(':')
}
