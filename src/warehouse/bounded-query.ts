/**
 * Runs a statement that anybody wrote, such as an assistant: it reads, ends in time, and its answer
 * is limited. The database itself decides what reads.
 */
import type { Ms } from '../values/time.ts'
import { createTurns } from '../values/turns.ts'
import { type AnswerReader, type BoundedQuery, refusedStatement } from './bounded-answer.ts'
import { parseDatabaseUrl } from './location.ts'
import { pathToRead } from './read-only-folder.ts'

/** Statements run one by one, as each may load a whole machine; each within five seconds. */
export async function openBoundedQuery(
  url: string,
  setting: string,
  limitMs: Ms = 4000,
  reader: AnswerReader = 'assistant',
): Promise<BoundedQuery> {
  const location = parseDatabaseUrl(url, setting)
  const query =
    location.kind === 'sqlite'
      ? (await import('./bounded-sqlite.ts')).openBoundedSqlite(
          pathToRead(location),
          limitMs,
          reader,
        )
      : (await import('./bounded-postgres.ts')).openBoundedPostgres(
          location.url,
          setting,
          limitMs,
          reader,
        )
  const inTurn = createTurns()
  return {
    ...query,
    run: (statement) => {
      // By the clock that ends a statement, which may be a little ahead: else one more would run.
      let hasWaitedTooLong = false
      const wait = setTimeout(() => (hasWaitedTooLong = true), limitMs)
      return inTurn(async () => {
        clearTimeout(wait)
        if (!hasWaitedTooLong) return query.run(statement)
        throw refusedStatement(
          'others, asked at the same time, took too long',
          'ask one after the other',
        )
      })
    },
  }
}
