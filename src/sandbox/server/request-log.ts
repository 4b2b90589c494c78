/** The log of requests to the sandbox and of its responses, by which rate budgets are verified. */
import type { EpochMs, Ms } from '../../core/time.ts'

/** Times use this machine's clock, not the service's. Keys and bodies are never logged. */
export type RequestLogEntry = {
  readonly number: number
  readonly requestId: string
  readonly arrivedAt: EpochMs
  /** When the last byte was sent, or the connection was cut; null = in progress. */
  answeredAt: EpochMs | null
  readonly method: string
  readonly path: string
  readonly query: string
  /** The operation's id in the API description; null = unknown path. */
  readonly operation: string | null
  readonly write: boolean
  keyId: string | null
  /** Null: no response was sent. */
  status: number | null
  readonly fault: string | null
}

export type RequestCounts = ReturnType<typeof countRequests>

export function countRequests(entries: readonly RequestLogEntry[], windowMs: Ms = 60_000) {
  const writes = entries.filter(({ write }) => write)
  return {
    total: entries.length,
    byOperation: countBy(entries, (entry) => entry.operation ?? 'none'),
    byStatus: countBy(entries, (entry) => String(entry.status ?? 'none')),
    byFault: countBy(entries, (entry) => entry.fault),
    /** The most that arrived with one key in any window. */
    maxInWindow: { requests: mostInWindow(entries, windowMs), writes: mostInWindow(writes, windowMs) },
    firstAt: entries[0]?.arrivedAt ?? null,
    lastAt: entries.at(-1)?.arrivedAt ?? null,
  }
}

function countBy(entries: readonly RequestLogEntry[], nameOf: (entry: RequestLogEntry) => string | null) {
  const counts: Record<string, number> = {}
  for (const entry of entries) {
    const name = nameOf(entry)
    if (name !== null) counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}

function mostInWindow(entries: readonly RequestLogEntry[], windowMs: Ms): number {
  const arrivals = new Map<string, { readonly times: EpochMs[]; oldest: number }>()
  let most = 0
  for (const { keyId, arrivedAt } of entries) {
    if (keyId === null) continue
    const key = arrivals.get(keyId) ?? { times: [], oldest: 0 }
    arrivals.set(keyId, key)
    key.times.push(arrivedAt)
    while ((key.times[key.oldest] ?? 0) <= arrivedAt - windowMs) key.oldest += 1
    most = Math.max(most, key.times.length - key.oldest)
  }
  return most
}
