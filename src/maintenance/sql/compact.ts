/**
 * Removes what a database keeps of deleted rows, where that is quick. What is not removed is named
 * with the command that does.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import { tables } from '../../../schema/tables.ts'
import { formatBytes } from '../../values/format.ts'
import type { Ms } from '../../values/time.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import { isInSchema } from '../../warehouse/dialect.ts'
import { type DatabaseLocation, parseDatabaseUrl } from '../../warehouse/location.ts'
import { readStorage } from '../../warehouse/storage-size.ts'
import type { Remains } from '../core/remains.ts'

/** Rewriting so much takes some seconds, in which others wait. */
const maxQuickBytes = 256 * 2 ** 20
const maxQuickTableBytes = 64 * 2 ** 20
/** How long readers and writers are waited for, which then wait themselves. */
const maxWaitMs: Ms = 3000

/** `isLogEmpty`: the log has been copied into the file and emptied. */
export type Compacted = { readonly isRewritten: boolean; readonly isLogEmpty: boolean }

export async function compactSqlite(db: Db, location: DatabaseLocation): Promise<Compacted> {
  // Until its parts are merged, the index still has the words of deleted entries.
  await sql`insert into search_words (search_words) values ('optimize')`.execute(db)
  await sql`analyze`.execute(db)
  const { bytes, freeBytes } = await readStorage(location, db)
  // The new copy is written into a temporary file and into the log.
  const isQuick = bytes <= maxQuickBytes && 3 * bytes < (freeBytes ?? 0)
  const isRewritten = isQuick && (await succeeds(() => sql`vacuum`.execute(db)))
  return { isRewritten, isLogEmpty: await until(() => emptyLog(db), maxWaitMs) }
}

/** False: a reader still needs it. */
async function emptyLog(db: Db): Promise<boolean> {
  const { rows } = await sql<{ busy: number }>`pragma wal_checkpoint(truncate)`.execute(db)
  return rows[0]?.busy === 0
}

/**
 * After rows of any table were rewritten. False: a transaction may still see them, so it is to be
 * done again.
 */
export async function compactRewritten(db: Db, kind: DatabaseKind): Promise<boolean> {
  if (kind === 'postgres') {
    const remains = await compactPostgres(db, [...Object.keys(tables), 'search_words'], maxWaitMs)
    return !remains.some(({ why }) => why === seenWhy)
  }
  const { rows } = await sql<{ file: string }>`select file from pragma_database_list
    where name = 'main' and file <> ''`.execute(db)
  const [main] = rows
  if (main !== undefined) await compactSqlite(db, parseDatabaseUrl(`sqlite:${main.file}`))
  return true
}

type TableFiles = { readonly name: string; readonly bytes: number; readonly file: number }

/** Of these tables, as far as they exist. Waits so long for transactions, and holds up nobody. */
export async function compactPostgres(
  db: Db,
  tables: readonly string[],
  transactionWaitMs: Ms = 10_000,
): Promise<readonly Remains[]> {
  const older = await listTransactions(db)
  const areEnded = () =>
    listTransactions(db).then((open) => !older.some((one) => open.includes(one)))
  await until(areEnded, transactionWaitMs)
  const before = await readFiles(db, tables)
  await rewrite(
    db,
    before.filter(({ bytes }) => bytes <= maxQuickTableBytes),
  )
  // A role that may not do it gets a warning, and no error.
  const after = new Map((await readFiles(db, tables)).map((table) => [table.name, table]))
  const unwritten = before.filter(({ name, file }) => after.get(name)?.file === file)
  for (const { name } of before) await succeeds(() => sql`analyze ${sql.table(name)}`.execute(db))
  await forgetStatistics(db, tables)
  const isSeen = !(await areEnded())
  return isSeen
    ? [filesOf(before, seenWhy)]
    : unwritten.length > 0
      ? [filesOf(unwritten, unwrittenWhy)]
      : []
}

const seenWhy =
  'deleted rows: a transaction that began before the erasure may still see them; end it first'
const unwrittenWhy = 'deleted rows, until the tables are written anew; others wait for that'

function filesOf(tables: readonly TableFiles[], why: string): Remains {
  const names = tables.map(({ name }) => name).join(', ')
  const bytes = tables.reduce((sum, table) => sum + table.bytes, 0)
  return {
    place: `files of ${names} (${formatBytes(bytes)})`,
    values: null,
    why,
    command: `vacuum full ${names}`,
  }
}

/**
 * Of tables that have or had rows, with indexes and long values: a B-tree that never had an
 * entry has one page, that of long values too. `file`: another number after each
 * rewriting.
 */
async function readFiles(db: Db, tables: readonly string[]): Promise<readonly TableFiles[]> {
  const { rows } = await sql<TableFiles>`
    select relname as name, bytes, cast(pg_relation_filenode(oid) as bigint) as file
    from pg_class, pg_total_relation_size(oid) as bytes where ${isInSchema}
      and relkind = 'r' and relname in (${sql.join(tables)})
      and bytes > cast(current_setting('block_size') as bigint) * (
        select count(*) from pg_index join pg_class index_file on index_file.oid = indexrelid
        where indrelid in (pg_class.oid, pg_class.reltoastrelid)
          and index_file.relam = (select oid from pg_am where amname = 'btree'))
    order by relname`.execute(db)
  return rows
}

/**
 * Transactions for which deleted rows are kept; all of other roles, which may not be inspected.
 * What rewrites a table sees as far back as the oldest transaction that writes, in whichever
 * database.
 */
async function listTransactions(db: Db): Promise<readonly string[]> {
  const { rows } = await sql<{ id: string }>`
    select virtualtransaction as id from pg_locks join pg_stat_activity using (pid)
    where locktype = 'virtualxid' and granted and datname = current_database()
    and pid <> pg_backend_pid()
      and (backend_type is null or backend_xmin is not null)
    union select virtualtransaction from pg_locks
    where locktype = 'transactionid' and mode = 'ExclusiveLock' and granted
    and pid is distinct from pg_backend_pid()`.execute(db)
  return rows.map(({ id }) => id)
}

/** With their indexes. It waits no longer for others than they then wait for it. */
function rewrite(db: Db, tables: readonly TableFiles[]): Promise<void> {
  return db.connection().execute(async (connection) => {
    await sql`set lock_timeout = ${sql.lit(maxWaitMs)}`.execute(connection)
    for (const { name } of tables)
      await succeeds(() => sql`vacuum full ${sql.table(name)}`.execute(connection))
    await sql`reset lock_timeout`.execute(connection)
  })
}

/** By type, for a row that only stands for an empty table. */
const emptyValues: readonly (readonly [type: RegExp, value: string])[] = [
  [/^(bigint|integer|double precision)$/, '0'],
  [/^boolean$/, 'false'],
  [/^jsonb$/, "'{}'"],
  [/^(timestamp|date)/, "'epoch'"],
  [/^uuid$/, "'00000000-0000-0000-0000-000000000000'"],
]

/** `analyze` keeps the statistics of an empty table, so it gets a row that nobody else sees. */
async function forgetStatistics(db: Db, tables: readonly string[]): Promise<void> {
  const { rows: known } = await sql<{ name: string }>`
    select distinct tablename as name from pg_stats where schemaname = current_schema()
    and tablename in (${sql.join(tables)})`.execute(db)
  for (const { name } of known) {
    const { rows: filled } = await sql`select 1 from ${sql.table(name)} limit 1`.execute(db)
    if (filled.length === 0) await analyzeWithRow(db, name)
  }
}

async function analyzeWithRow(db: Db, table: string): Promise<void> {
  const { rows: columns } = await sql<{ name: string; type: string }>`
    select attname as name, format_type(atttypid, null) as type from pg_attribute
    where attrelid = to_regclass(${table}) and attnotnull and attnum > 0
    and not attisdropped`.execute(db)
  const names = columns.map(({ name }) => sql.ref(name))
  const values = columns.map(
    ({ type }) => emptyValues.find(([pattern]) => pattern.test(type))?.[1] ?? "''",
  )
  await succeeds(() =>
    db.transaction().execute(async (trx) => {
      await sql`insert into ${sql.table(table)} (${sql.join(names)})
        values (${sql.raw(values.join(', '))})`.execute(trx)
      await sql`analyze ${sql.table(table)}`.execute(trx)
      await sql`delete from ${sql.table(table)}`.execute(trx)
    }),
  )
}

/** False: the database refused it. What then remains is found. */
async function succeeds(work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error) return false
    throw error
  }
}

async function until(isSo: () => Promise<boolean>, waitMs: Ms): Promise<boolean> {
  for (const deadline = performance.now() + waitMs; performance.now() < deadline; await delay(100))
    if (await isSo()) return true
  return isSo()
}
