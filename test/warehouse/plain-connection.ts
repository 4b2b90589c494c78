/**
 * Connections to a database that open no warehouse: they neither migrate it nor look at its schema.
 */
import { sql } from 'kysely'
import { openKysely } from '../../src/warehouse/connection-pool.ts'
import { openPostgresPool } from '../../src/warehouse/postgres.ts'
import { openSqlitePool } from '../../src/warehouse/sqlite.ts'
import type { DatabaseInstance } from '../support/databases.ts'

export type PlainRow = Readonly<Record<string, unknown>>

export async function connect({ kind, url }: Pick<DatabaseInstance, 'kind' | 'url'>) {
  const pool =
    kind === 'sqlite'
      ? openSqlitePool(url.replace('sqlite:', ''), { mustExist: false, synchronous: 'normal' })
      : await openPostgresPool(url, true)
  const db = openKysely(pool)
  const query = async (text: string) => (await sql.raw<PlainRow>(text).execute(db)).rows
  return { db, query, close: () => db.destroy() }
}
