/**
 * One statement that anybody may have written, such as an assistant: it reads, ends in time, and its answer has a limited size.
 * The database itself decides what reads; the warehouse is the same afterwards.
 */
import { type BoundedQuery, type QueryLimits, refusedStatement } from './bounded-answer.ts'
import { parseDatabaseUrl } from './location.ts'

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
      const askedAt = performance.now()
      const answer = last.then(() => {
        if (performance.now() - askedAt < limits.ms) return run(statement)
        throw refusedStatement('others, asked at the same time, took too long', 'ask one after the other')
      })
      last = answer.catch(() => {})
      return answer
    },
    close,
  }
}
