/** What the facts of a project depend on besides its rows, as one text. If it changes, they are derived anew. */
import { createHash } from 'node:crypto'
import type { AnalyticsSettings } from './analytics-settings.ts'
import { createTimeZone } from './time-zone.ts'

/** Raise it with every change of a definition or of the columns of the facts, and of the words that can be searched. */
export const factsVersion = 2

export type DerivationSettings = Pick<
  AnalyticsSettings,
  'roles' | 'hours' | 'holidays' | 'visitGapSeconds' | 'availabilityHoldSeconds' | 'fields'
> & { readonly timeZone: string }

/** Countries change their clocks: a newer version of Node may know other offsets of these years. */
const watchedYears = { from: Date.UTC(2020, 0, 1) / 1000, to: Date.UTC(2032, 0, 1) / 1000 }

/** Not of targets, calls and personal data: only views use them. */
export function factsFingerprint(settings: DerivationSettings, version = factsVersion): string {
  const { roles, hours, holidays, visitGapSeconds, availabilityHoldSeconds, fields, timeZone } = settings
  const offsets = [...createTimeZone(timeZone).offsetSpans(watchedYears.from, watchedYears.to)]
  const dependencies = { version, roles, hours, holidays, visitGapSeconds, availabilityHoldSeconds, fields }
  return createHash('sha256')
    .update(canonicalJson({ ...dependencies, timeZone, offsets }))
    .digest('hex')
}

/** The order of the keys in a file makes no difference. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`).join()}}`
}
