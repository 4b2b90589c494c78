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

export type RequestCounts = {
  readonly total: number
  readonly byOperation: Readonly<Record<string, number>>
  readonly byStatus: Readonly<Record<string, number>>
  readonly byFault: Readonly<Record<string, number>>
  /** The most that arrived with one key in any 60 seconds. */
  readonly maxInWindow: { readonly requests: number; readonly writes: number }
  readonly firstAt: EpochMs | null
  readonly lastAt: EpochMs | null
}

export function countRequests(entries: readonly RequestLogEntry[], windowMs: Ms = 60_000): RequestCounts {
  return {
    total: entries.length,
    byOperation: countBy(entries, (entry) => entry.operation ?? 'none'),
    byStatus: countBy(entries, (entry) => String(entry.status ?? 'none')),
    byFault: countBy(entries, (entry) => entry.fault),
    maxInWindow: {
      requests: mostInWindow(entries, windowMs),
      writes: mostInWindow(
        entries.filter((entry) => entry.write),
        windowMs,
      ),
    },
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
