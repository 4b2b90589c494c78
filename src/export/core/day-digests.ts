/** Digests of rows by day: equal for equal rows, in whichever database and order. Pure. */
import { createHash, type Hash } from 'node:crypto'
import { mirrorTables } from '../../../schema/mirror-tables.ts'
import { type StreamName, streamSpecs } from '../../../schema/stream-specs.ts'
import type { ProjectId } from '../../values/project.ts'

/**
 * The rows of one day of a stream. `day`: `2026-01-31`; null = rows without a time between 2000 and
 * 2100. `digest`: SHA-256 in hexadecimal digits of one line for each row, in the order of the keys:
 * a JSON array of the parts of the key as texts, a space, and the row as canonical JSON.
 */
export type DayDigest = {
  readonly day: string | null
  readonly rows: number
  readonly digest: string
}

/** `digest`: of its days. */
export type StreamDigest = {
  readonly stream: StreamName
  readonly rows: number
  readonly digest: string
  readonly days: readonly DayDigest[]
}

/** Parts of a key that are made from the row, and differ if the service reorders its fields. */
const madeColumns = ['entry_hash', 'ordinal']

/** The parts of the key that are not in the row itself. */
export function identityColumns(stream: StreamName): readonly string[] {
  const made = ['project_id', ...madeColumns]
  return mirrorTables[streamSpecs[stream].table].key.filter((name) => !made.includes(name))
}

/** In UTC. Null outside of these hundred years, so that wrong clocks do not make endless days. */
export function dayOf(time: string | null): string | null {
  return time !== null && /^20\d\d-/.test(time) ? time.slice(0, 10) : null
}

/** Of one stream, in the order of its keys. The memory grows with the days, not with the rows. */
export function createDayDigests() {
  const days = new Map<string | null, { readonly hash: Hash; rows: number }>()
  return {
    /** `raw`: canonical JSON of the row as the service sent it. */
    add: (
      day: string | null,
      identity: readonly (string | number | bigint | boolean | null)[],
      raw: string,
    ): void => {
      let digest = days.get(day)
      if (digest === undefined) {
        digest = { hash: createHash('sha256'), rows: 0 }
        days.set(day, digest)
      }
      digest.rows += 1
      digest.hash.update(`${JSON.stringify(identity.map(String))} ${raw}\n`)
    },
    finish: (stream: StreamName): StreamDigest => {
      const found = [...days].map(
        ([day, { rows, hash }]): DayDigest => ({ day, rows, digest: hash.digest('hex') }),
      )
      const ordered = found.toSorted((a, b) => byDate(a.day, b.day))
      const rows = ordered.reduce((sum, digest) => sum + digest.rows, 0)
      return { stream, rows, digest: digestOfDays(ordered), days: ordered }
    },
  }
}

/** The rows without a day come last. */
function byDate(a: string | null, b: string | null): number {
  if (a === b) return 0
  if (a === null || b === null) return a === null ? 1 : -1
  return a < b ? -1 : 1
}

/** Of one line for each day: `2026-01-31 12 <digest>`, and `-` for the rows of no day. */
export function digestOfDays(days: readonly DayDigest[]): string {
  return sha256(days.map(({ day, rows, digest }) => `${day ?? '-'} ${rows} ${digest}\n`).join(''))
}

/**
 * Of the line `deskmirror-verify 1 <project id>` and one line for each stream: `messages 12
 * <digest>`.
 */
export function digestOfMirror(
  projectId: ProjectId,
  streams: readonly Omit<StreamDigest, 'days'>[],
): string {
  const lines = streams.map(({ stream, rows, digest }) => `${stream} ${rows} ${digest}\n`)
  return sha256(`deskmirror-verify 1 ${projectId}\n${lines.join('')}`)
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/**
 * `changed`: as many rows, and not the same ones. `more` and `fewer` say nothing about the other
 * rows of the day: a digest shows only that something is different. `before` and `now`: how many
 * rows.
 */
export type DayChange = {
  readonly stream: StreamName
  readonly day: string | null
  readonly state: 'same' | 'more' | 'fewer' | 'changed'
  readonly before: number
  readonly now: number
}

/** `days`: those that are not the same, in order. */
export type StreamChange = {
  readonly stream: StreamName
  readonly before: number
  readonly now: number
  readonly counts: Readonly<Record<DayChange['state'], number>>
  readonly days: readonly DayChange[]
}

/** Of the streams in `before`; one that is missing in `now` has no rows. */
export function compareDigests(
  before: readonly StreamDigest[],
  now: readonly StreamDigest[],
): StreamChange[] {
  const current = new Map(now.map((digest) => [digest.stream, digest]))
  return before.map((counted) => compareStream(counted, current.get(counted.stream)))
}

function compareStream(
  { stream, rows, days: earlier }: StreamDigest,
  now: StreamDigest | undefined,
): StreamChange {
  const before = byDay(earlier)
  const later = byDay(now?.days ?? [])
  const days = [...new Set([...before.keys(), ...later.keys()])].toSorted(byDate)
  const all = days.map((day) => compareDay(stream, day, before.get(day), later.get(day)))
  const count = (state: DayChange['state']) => all.filter((change) => change.state === state).length
  return {
    stream,
    before: rows,
    now: now?.rows ?? 0,
    counts: {
      same: count('same'),
      more: count('more'),
      fewer: count('fewer'),
      changed: count('changed'),
    },
    days: all.filter(({ state }) => state !== 'same'),
  }
}

function byDay(days: readonly DayDigest[]): ReadonlyMap<string | null, DayDigest> {
  return new Map(days.map((digest) => [digest.day, digest]))
}

function compareDay(
  stream: StreamName,
  day: string | null,
  before?: DayDigest,
  now?: DayDigest,
): DayChange {
  const was = before?.rows ?? 0
  const is = now?.rows ?? 0
  const sameCount = before?.digest === now?.digest ? 'same' : 'changed'
  return {
    stream,
    day,
    before: was,
    now: is,
    state: is > was ? 'more' : is < was ? 'fewer' : sameCount,
  }
}

export function hasChanges(streams: readonly StreamChange[]): boolean {
  return streams.some(({ days }) => days.length > 0)
}
