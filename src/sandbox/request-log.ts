/** The log of requests, by which tests judge budget, loss and duplication. */
import type { EpochMs, Ms } from '../values/time.ts'

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

export function countRequests(entries: readonly RequestLogEntry[], windowMs: Ms = 60_000) {
  const writes = entries.filter(({ write }) => write)
  return {
    total: entries.length,
    byOperation: countBy(entries, ({ operation }) => operation ?? 'none'),
    byStatus: countBy(entries, ({ status }) => String(status ?? 'none')),
    byFault: countBy(
      entries.filter(({ fault }) => fault !== null),
      ({ fault }) => String(fault),
    ),
    /** The most that arrived with one key in any window. */
    maxInWindow: { requests: mostInWindow(entries, windowMs), writes: mostInWindow(writes, windowMs) },
    firstAt: entries[0]?.arrivedAt ?? null,
    lastAt: entries.at(-1)?.arrivedAt ?? null,
  }
}

function countBy(entries: readonly RequestLogEntry[], nameOf: (entry: RequestLogEntry) => string) {
  const groups = Map.groupBy(entries, nameOf)
  return Object.fromEntries([...groups].map(([name, group]) => [name, group.length]))
}

function mostInWindow(entries: readonly RequestLogEntry[], windowMs: Ms): number {
  let most = 0
  for (const [keyId, all] of Map.groupBy(entries, (entry) => entry.keyId)) {
    if (keyId === null) continue
    let oldest = 0
    for (const [n, { arrivedAt }] of all.entries()) {
      while ((all[oldest]?.arrivedAt ?? arrivedAt) <= arrivedAt - windowMs) oldest += 1
      most = Math.max(most, n + 1 - oldest)
    }
  }
  return most
}
