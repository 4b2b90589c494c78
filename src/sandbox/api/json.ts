/** JSON in the service's format: times in whole seconds, integers beyond 2^53 unchanged. */
import type { Json } from '../../core/row.ts'
import { type EpochMs, rfc3339 } from '../../core/time.ts'

export type { Json } from '../../core/row.ts'

// In V8 since Node 21; the compiler's library does not declare it yet.
const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => unknown }

/** `exact`: the value may hold bigints. It costs a call per value, so it is used only where needed. */
export function toJsonText(value: Json, exact: boolean): string {
  if (!exact) return JSON.stringify(value)
  return JSON.stringify(value, (_, cell: unknown) => (typeof cell === 'bigint' ? rawJSON(String(cell)) : cell))
}

export function toTimestamp(at: EpochMs): string {
  return rfc3339(Math.floor(at / 1000))
}

export function toTimestampOrNull(at: EpochMs | null): string | null {
  return at === null ? null : toTimestamp(at)
}
