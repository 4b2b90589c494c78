/**
 * For the query planners: without them a query over 250,000 messages can take minutes. Postgres
 * updates them by itself, but not right after a first sync.
 */
import { sql } from 'kysely'
import type { DatabaseKind } from '../../schema/column-types.ts'
import { tables } from '../../schema/tables.ts'
import type { Db } from './connection-pool.ts'
import { optimizeAllTables } from './sqlite.ts'

/** Tables without statistics, or that have grown a lot since. SQLite chooses among all tables. */
async function analyzeStaleTables(
  db: Db,
  kind: DatabaseKind,
  among: object = tables,
): Promise<void> {
  if (kind === 'sqlite') await sql`pragma ${sql.raw(optimizeAllTables)}`.execute(db)
  else
    for (const table of await findStaleTables(db, among))
      await sql`analyze ${sql.table(table)}`.execute(db)
}

/** In Postgres, whose autovacuum does so, only the stale ones. */
export async function analyzeAllTables(db: Db, kind: DatabaseKind): Promise<void> {
  if (kind === 'sqlite') await sql`analyze`.execute(db)
  else await analyzeStaleTables(db, kind)
}

/** Never analyzed, or twice as large since. */
async function findStaleTables(db: Db, among: object): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select c.relname as name from pg_class c
    join pg_namespace n on n.oid = c.relnamespace and n.nspname = current_schema()
    left join pg_stat_user_tables s on s.relid = c.oid
    where c.relkind = 'r' and pg_relation_size(c.oid) > 0
      and (c.reltuples < 0 or s.n_mod_since_analyze > greatest(c.reltuples, 1000))`.execute(db)
  return rows.map(({ name }) => name).filter((name) => name in among)
}

/** Stored rows after which statistics are updated during a run, and at its end. */
const analyzeEveryRows = 50_000
const analyzeAtEndRows = 500

/** While a run stores rows, which a failure here does not fail. */
export function createStatisticsUpdater(db: Db, kind: DatabaseKind, among?: object) {
  let rows = 0
  const analyzeAfter = async (minRows: number) => {
    if (rows < minRows) return
    rows = 0
    await analyzeStaleTables(db, kind, among).catch(() => {})
  }
  return {
    rowsStored: (stored: number) => {
      rows += stored
      return analyzeAfter(analyzeEveryRows)
    },
    runEnded: () => analyzeAfter(analyzeAtEndRows),
  }
}
