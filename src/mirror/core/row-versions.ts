/**
 * Versions of a row, and the time in which each was true, as far as readings show it. A version is
 * true from the reading that first showed it to the one that first showed the next one, or that the
 * row was deleted: half-open, without overlaps. When the service changed it, nothing says; it was
 * after the last reading that still showed the version. Pure.
 */
import { type ListStreamName, streamSpecs } from '../../../schema/stream-specs.ts'
import { normalizeName } from '../../values/field-path.ts'
import { type Json, stringifyJson, toCanonicalJson, tryParseJson } from '../../values/json.ts'
import {
  clockToleranceSeconds,
  type EpochMs,
  type EpochSeconds,
  parseTime,
  rfc3339,
} from '../../values/time.ts'

/**
 * `began`: when the version that the new copy shows was first read. `ended`: the interval of the
 * stored one, if it is another. It is empty, ending before it began, where a clock was wrong.
 */
export type VersionStep = {
  readonly began: EpochSeconds
  readonly ended: { readonly from: EpochSeconds; readonly to: EpochSeconds } | null
}

/**
 * What a copy that replaces the stored one means for its version. `stored`: some columns of it.
 * `raw`: of the copy.
 */
export function nextVersion(
  list: ListStreamName,
  stored: Readonly<Record<string, string | null>>,
  raw: string,
  requestedAt: EpochMs,
): VersionStep {
  const from = parseTime(stored.unchanged_since ?? stored.synced_at) ?? 0
  const deletedAt = parseTime(stored.deleted_at)
  if (deletedAt === undefined && isSameVersion(list, stored.raw ?? '', raw))
    return { began: from, ended: null }
  const at = Math.floor(requestedAt / 1000)
  // Versions of one second are put a second apart, as they are found by when they began. A time
  // far ahead is that of a clock that was wrong, and orders nothing.
  const began = from > at + clockToleranceSeconds ? at : Math.max(at, from + 1)
  const to = deletedAt === undefined ? began : Math.min(began, Math.max(deletedAt, from + 1))
  return { began, ended: { from, to } }
}

/** `began` as the column `unchanged_since` has it. */
export function unchangedSince({ began }: VersionStep, requestedAt: EpochMs): string | null {
  return began === Math.floor(requestedAt / 1000) ? null : rfc3339(began)
}

/** Two copies differ in nothing, or in moving times only. */
export function isSameVersion(list: ListStreamName, one: string, other: string): boolean {
  const steady = (raw: string) => {
    const item = tryParseJson(raw)
    if (item === undefined) return raw
    return toCanonicalJson(
      stringifyJson(withoutMoving(item, new Set(streamSpecs[list].movingFields))),
    )
  }
  return one === other || steady(one) === steady(other)
}

/**
 * The rule for all fields, documented or not: a time moves if its name, or that of a field around
 * it, begins so.
 */
const movingName = /^(?:last|latest|updated|modified|seen)/

/** `fields`: those that move whatever they hold. */
function withoutMoving(value: Json, fields: ReadonlySet<string>, isMoving = false): Json {
  if (typeof value !== 'object' || value === null)
    return isMoving && parseTime(value) !== undefined ? null : value
  if (Array.isArray(value)) return value.map((part: Json) => withoutMoving(part, fields, isMoving))
  const kept = Object.entries(value).flatMap(([name, part]: [string, Json]): [string, Json][] => {
    if (fields.has(name)) return []
    const moves = isMoving || movingName.test(normalizeName(name))
    const rest = withoutMoving(part, noFields, moves)
    return moves && rest === null ? [] : [[name, rest]]
  })
  return Object.fromEntries(kept)
}

const noFields: ReadonlySet<string> = new Set()
