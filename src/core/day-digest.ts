/** How many rows a stream has on each day, with a digest of them. */
import type { StreamName } from './stream-specs.ts'

/**
 * The rows of one day of a stream. `day`: `2026-01-31`; null = rows without a time between 2000 and 2100. `digest`: SHA-256
 * in hexadecimal digits of one line for each row, in the order of the keys (docs/certificate.md).
 */
export type DayDigest = { readonly day: string | null; readonly rows: number; readonly digest: string }

/** `digest`: of its days. */
export type StreamDigest = {
  readonly stream: StreamName
  readonly rows: number
  readonly digest: string
  readonly days: readonly DayDigest[]
}
