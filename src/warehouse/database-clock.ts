/** The clock that all processes of a warehouse share: the server's, or, for a file of SQLite, this machine's. */
import { sql } from 'kysely'
import type { DatabaseKind } from '../../schema/column-types.ts'
import type { EpochMs } from '../values/time.ts'
import type { Db } from './connection-pool.ts'
import { databaseNowMs } from './dialect.ts'

/** As of now; it goes on by this process's monotonic clock. */
export async function readClock(db: Db, kind: DatabaseKind): Promise<() => EpochMs> {
  if (kind === 'sqlite') return Date.now
  const { rows } = await sql<{ now: number }>`select ${databaseNowMs(kind)} as now`.execute(db)
  const readAt = performance.now()
  const now = rows[0]?.now ?? Date.now()
  return () => Math.floor(now + performance.now() - readAt)
}
