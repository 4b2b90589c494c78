/** Durations as people write them: `120s`, `5m`. */
import type { Ms } from './time.ts'

const units: Readonly<Record<string, Ms>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Milliseconds of `250ms`, `120s`, `5m`, `2h`, `1d`; undefined for anything else. */
export function parseDuration(text: string): Ms | undefined {
  const match = /^(\d{1,9})\s*(ms|s|m|h|d)$/.exec(text.trim())
  const unit = units[match?.[2] ?? '']
  return unit === undefined ? undefined : Number(match?.[1]) * unit
}
