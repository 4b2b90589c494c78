/** How large the warehouse is, and how much room its disk has left. */
import { stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { sql } from 'kysely'
import type { Db } from './connection-pool.ts'
import type { DatabaseLocation } from './location.ts'

/** `freeBytes` null: the disk is that of another program, Postgres, which does not tell. */
export type Storage = {
  readonly database: DatabaseLocation['kind']
  readonly bytes: number
  readonly freeBytes: number | null
}

export async function readStorage(location: DatabaseLocation, db: Db): Promise<Storage> {
  if (location.kind === 'postgres') {
    const { rows } = await sql<{
      bytes: number
    }>`select pg_database_size(current_database()) as bytes`.execute(db)
    return { database: location.kind, bytes: Number(rows[0]?.bytes ?? 0), freeBytes: null }
  }
  const { bavail, bsize } = await statfs(dirname(location.path))
  const sizes = await Promise.all([fileBytes(location.path), fileBytes(`${location.path}-wal`)])
  const bytes = sizes.reduce((sum, size) => sum + size, 0)
  return { database: location.kind, bytes, freeBytes: bavail * bsize }
}

async function fileBytes(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  )
}
