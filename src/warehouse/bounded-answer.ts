/** The answer to a statement that anybody wrote: limited in size, or why it did not run. */
import { formatBytes } from '../values/format.ts'
import { showInvisibleInLines } from '../values/invisible.ts'
import type { Ms } from '../values/time.ts'
import { UserError } from '../values/user-error.ts'
import type { ValueList } from './connection-pool.ts'

/** `cut`: a sentence that says what is missing; null = nothing is. */
export type BoundedAnswer = {
  readonly columns: readonly string[]
  readonly rows: readonly ValueList[]
  readonly cut: string | null
}

export type BoundedQuery = {
  /** Throws UserError. */
  readonly run: (statement: string) => Promise<BoundedAnswer>
  readonly close: () => Promise<void>
}

/**
 * How large an answer may be. `valueLength`: of a single value, in characters, as a text that fills
 * the answer tells an assistant less than several rows. `received`: from Postgres, in MB, where a
 * single row arrives as a whole. `heap`: of the process that runs SQLite, in MB.
 */
export const answerLimits = {
  assistant: { rows: 500, bytes: 200_000, valueLength: 20_000, received: 16, heap: 128 },
  file: {
    rows: 100_000,
    bytes: 32_000_000,
    valueLength: Number.POSITIVE_INFINITY,
    received: 64,
    heap: 384,
  },
} as const
export type AnswerReader = keyof typeof answerLimits

export function createRowCollector(reader: AnswerReader) {
  const { rows: maxRows, bytes: maxBytes, valueLength: maxValueLength } = answerLimits[reader]
  const rows: ValueList[] = []
  const cut = new Set<string>()
  let bytes = 0
  const toValue = (value: unknown): unknown => {
    if (typeof value === 'bigint' && Number.isSafeInteger(Number(value))) return Number(value)
    // JSON has no number for them, or another one.
    if (typeof value === 'bigint' || (typeof value === 'number' && !Number.isFinite(value)))
      return String(value)
    if (value instanceof Uint8Array) return `a value of ${value.byteLength} bytes that is no text`
    if (typeof value !== 'string') return value
    if (value.length > maxValueLength) cut.add(`texts are cut after ${maxValueLength} characters`)
    if (reader === 'file') return value
    // What people cannot see, a program should not obey.
    return showInvisibleInLines(value.slice(0, maxValueLength))
  }
  return {
    /** False: no further row fits. */
    add: (row: ValueList): boolean => {
      const values = row.map(toValue)
      bytes += Buffer.byteLength(JSON.stringify(values))
      if (bytes > maxBytes)
        cut.add(`there are more rows, and the next one does not fit in ${formatBytes(maxBytes)}`)
      else if (rows.length === maxRows)
        cut.add(`there are more rows: these are the first ${maxRows}`)
      else return rows.push(values) > 0
      return false
    },
    answer: (columns: readonly string[]): BoundedAnswer => ({
      columns,
      rows,
      cut: [...cut].join('; ') || null,
    }),
  }
}

/** The reason may quote a value of any length. */
export function refusedStatement(why: string, next = 'ask with one SELECT'): UserError {
  return new UserError({
    what: 'the statement did not run',
    why: why.slice(0, 1000),
    next,
  })
}

export function tooLong(limitMs: Ms): UserError {
  const next =
    'read fewer rows: filter by time or by project_id, or ask a ' +
    'report_… object, which is counted already'
  return refusedStatement(`it took longer than ${limitMs / 1000} s, and was ended`, next)
}

/** What helps if the database does not understand a statement. */
export const compareNames = 'compare its names and types with docs/reference, or `describe`'
