/** For how long what grows without end is kept. */
import { type Ms, parseDuration } from '../values/time.ts'

const dayMs: Ms = 86_400_000

/** Null: forever. */
export const defaultRetention = {
  /** Sync runs; the first and the last of a project stay. */
  runs: (30 * dayMs) as Ms | null,
  /** Every snapshot of availability; older ones that are equal to the one before are joined. */
  snapshots: (30 * dayMs) as Ms | null,
  /** The words, evidence and log of settled write-backs, and the words of batches; the rows with their `ref` stay. */
  writebacks: (400 * dayMs) as Ms | null,
  /** The audit log of the console. */
  events: (400 * dayMs) as Ms | null,
  /** Gaps, after they were closed. */
  gaps: (90 * dayMs) as Ms | null,
}
export type Retention = Readonly<typeof defaultRetention>

/** The database itself keeps the audit log for as long. */
const shortest: Readonly<Partial<Record<string, Ms>>> = { events: 91 * dayMs, writebacks: 91 * dayMs }

/** `runs=30d, events=forever`; what is not named keeps its default. Undefined for anything else. */
export function parseRetention(text: string): Retention | undefined {
  const chosen: Record<string, Ms | null> = {}
  for (const part of text.split(',').filter((part) => part.trim() !== '')) {
    const [kind = '', value = '', ...rest] = part.split('=').map((side) => side.trim())
    const ms = value === 'forever' ? null : parseDuration(value)
    if (!(kind in defaultRetention) || ms === undefined || rest.length > 0) return undefined
    if (ms !== null && ms < (shortest[kind] ?? dayMs)) return undefined
    chosen[kind] = ms
  }
  return { ...defaultRetention, ...chosen }
}
