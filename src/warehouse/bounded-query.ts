/**
 * One statement that anybody may have written, such as an assistant: it reads, ends in time, and its answer has a limited size.
 * The database itself decides what reads; the warehouse is the same afterwards.
 */
import type { Ms } from '../values/time.ts'
import { UserError } from '../values/user-error.ts'
import type { BoundedAnswer, RowLimits } from './bounded-rows.ts'
import { parseDatabaseUrl } from './location.ts'

export type QueryLimits = RowLimits & { readonly ms: Ms }

export type BoundedQuery = {
  /** Throws UserError. */
  readonly run: (statement: string) => Promise<BoundedAnswer>
  readonly close: () => Promise<void>
}

/** Answers are sent within five seconds. */
export const usualLimits: QueryLimits = { rows: 500, bytes: 200_000, ms: 4000 }

/** One statement after the other, as each may take all that a machine has. */
export async function openBoundedQuery(url: string, setting: string, limits: QueryLimits): Promise<BoundedQuery> {
  const location = parseDatabaseUrl(url, setting)
  const { run, close } =
    location.kind === 'sqlite'
      ? (await import('./bounded-sqlite.ts')).openBoundedSqlite(location.path, limits)
      : (await import('./bounded-postgres.ts')).openBoundedPostgres(location.url, setting, limits)
  let last: Promise<unknown> = Promise.resolve()
  return {
    run: (statement) => {
      const answer = last.then(() => run(statement))
      last = answer.catch(() => {})
      return answer
    },
    close,
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
