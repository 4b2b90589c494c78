/** The answer to a statement that anybody may have written: a limited number of rows of a limited size, or why it did not run. */
import { showInvisibleInLines } from '../values/invisible.ts'
import type { Ms } from '../values/time.ts'
import { UserError } from '../values/user-error.ts'
import type { ValueList } from './connection-pool.ts'

export type RowLimits = { readonly rows: number; readonly bytes: number }

/** `cut`: a sentence that says what is missing; null = nothing is. */
export type BoundedAnswer = {
  readonly columns: readonly string[]
  readonly rows: readonly ValueList[]
  readonly cut: string | null
}

export type QueryLimits = RowLimits & { readonly ms: Ms }

export type BoundedQuery = {
  /** Throws UserError. */
  readonly run: (statement: string) => Promise<BoundedAnswer>
  readonly close: () => Promise<void>
}

/** Of a single value, in characters: a text that fills the answer tells less than several rows. */
const maxValueLength = 20_000

export function createRowCollector(limits: RowLimits) {
  const rows: ValueList[] = []
  let [bytes, shortened, isFull]: [number, number, 'rows' | 'bytes' | null] = [0, 0, null]
  const toValue = (value: unknown): unknown => {
    if (typeof value === 'bigint') return String(value)
    if (value instanceof Uint8Array) return `a value of ${value.byteLength} bytes that is no text`
    if (typeof value !== 'string') return value
    if (value.length > maxValueLength) shortened += 1
    // What people cannot see, a program should not obey.
    return showInvisibleInLines(value.slice(0, maxValueLength))
  }
  return {
    /** False: no further row fits. */
    add: (row: ValueList): boolean => {
      const values = row.map(toValue)
      const size = Buffer.byteLength(JSON.stringify(values))
      if (rows.length === limits.rows) isFull = 'rows'
      else if (bytes + size > limits.bytes) isFull = 'bytes'
      else rows.push(values)
      bytes += size
      return isFull === null
    },
    answer: (columns: readonly string[]): BoundedAnswer => {
      const said = [
        ...(isFull === 'rows' ? [`there are more rows: these are the first ${limits.rows}`] : []),
        ...(isFull === 'bytes' ? [`there are more rows: these ${rows.length} fill ${limits.bytes / 1000} kB`] : []),
        ...(shortened > 0 ? [`${shortened} texts are cut after ${maxValueLength} characters`] : []),
      ]
      return { columns, rows, cut: said.length === 0 ? null : said.join('; ') }
    },
  }
}

export function refusedStatement(why: string, next: string): UserError {
  return new UserError({ what: 'the statement did not run', why, next, exitCode: 2 })
}

export function tooLong({ ms }: QueryLimits): UserError {
  const next = 'read fewer rows: filter by time or by project_id, or ask a report_… object, which is counted already'
  return refusedStatement(`it took longer than ${ms / 1000} s, and was ended`, next)
}

export function failedStatement(why: string): UserError {
  return refusedStatement(why, 'compare its names and types with `describe`')
}
