/** After an erasure: removes what the database keeps of deleted rows, and looks for the values. */
import { basename } from 'node:path'
import type { Ms } from '../values/time.ts'
import type { ConnectionPool, Db } from '../warehouse/connection-pool.ts'
import type { DatabaseLocation } from '../warehouse/location.ts'
import { filesOfWarehouse, sendsFile, sideFile } from '../warehouse/warehouse-files.ts'
import type { Remains } from './core/remains.ts'
import { filesBeside, searchFiles } from './search-files.ts'
import { type Compacted, compactPostgres, compactSqlite } from './sql/compact.ts'
import { listCopies } from './sql/copies.ts'
import type { Erased } from './sql/erase.ts'
import { type DescribePlace, searchTables, type Unread } from './sql/search-tables.ts'

export type RemainsReport = {
  /** How many ids, addresses, names and texts were looked for. */
  readonly values: number
  /** How many were not: too short, or common. */
  readonly notSearched: number
  readonly tables: number
  readonly files: number
  /** Empty: nothing was found. */
  readonly remains: readonly Remains[]
  /** What could not be looked through, and why. */
  readonly unread: readonly Unread[]
  /** What this command cannot reach, in words. */
  readonly elsewhere: readonly string[]
}

export async function searchRemains(
  database: { readonly db: Db; readonly pool: ConnectionPool },
  location: DatabaseLocation,
  {
    values,
    tables: changed,
    isRepeated,
    transactionWaitMs,
  }: Erased & { readonly transactionWaitMs?: Ms | undefined },
  describePlace?: DescribePlace,
): Promise<RemainsReport> {
  const { db } = database
  const compacted = location.kind === 'sqlite' ? await compactSqlite(db, location) : null
  const unwritten = compacted === null ? await compactPostgres(db, changed, transactionWaitMs) : []
  const search = { values, compacted, isRepeated, describePlace }
  const report = await searchWarehouse(database, location, search)
  return { ...report, remains: [...report.remains, ...unwritten] }
}

/** Looks for values, and changes nothing. */
export async function searchWarehouse(
  { db, pool }: { readonly db: Db; readonly pool: ConnectionPool },
  location: DatabaseLocation,
  {
    values,
    compacted,
    isRepeated,
    describePlace,
  }: Pick<Erased, 'values' | 'isRepeated'> & {
    /** Null: Postgres. */
    readonly compacted: Compacted | null
    readonly describePlace?: DescribePlace | undefined
  },
): Promise<RemainsReport> {
  const { tables, remains, unread, common, gone, kept } = await searchTables(
    db,
    pool,
    values.values,
    describePlace,
  )
  const { own, others } = await listFiles(location)
  const files = [
    ...(await searchFiles(own, gone)),
    ...(await searchFiles(others, [...gone, ...kept])),
  ]
  const uncleaned = isRepeated && compacted !== null ? findUncleaned(own, compacted) : []
  const inFiles = files.flatMap(({ path, values: count }): readonly Remains[] => {
    const found = count === 0 && uncleaned.includes(path) ? null : count
    if (count === null || found === 0) return []
    const isOwn = own.includes(path)
    const remedy =
      isOwn && compacted !== null ? cleaning(own[0] ?? path, compacted) : removal(location, path)
    return [{ place: basename(path), values: found, ...remedy }]
  })
  return {
    values: values.values.length - common,
    notSearched: values.left + common,
    tables,
    files: files.length,
    remains: [...remains, ...inFiles],
    unread: [
      ...unread,
      ...files.flatMap(({ path, values: count }) =>
        count === null ? [{ place: basename(path), why: notReadable }] : [],
      ),
    ],
    elsewhere: [
      'backups, exported files, and what people copied',
      ...(isRepeated ? [notKnown] : []),
      ...(compacted === null ? await listCopies(db) : []),
    ],
  }
}

const notReadable = 'the file cannot be read'
const notKnown =
  'what people made, of values that an earlier run has erased here: they are not known any more, ' +
  'so they were not looked for'

/** They may have values of an earlier run, which are not known any more. */
function findUncleaned(own: readonly string[], { isRewritten, isLogEmpty }: Compacted) {
  if (isRewritten && isLogEmpty) return []
  return own.slice(0, isLogEmpty ? 1 : 2)
}

/** `own`: the database and its log first, whether they exist or not. */
async function listFiles(location: DatabaseLocation) {
  if (location.kind === 'postgres')
    return { own: [], others: [sendsFile(location)?.path ?? []].flat() }
  const { database } = filesOfWarehouse(location)
  if (database === null) return { own: [], others: [] }
  const sides = (['log', 'index', 'rollback'] as const).map((side) => sideFile(location, side))
  const own = [database, ...sides]
  const others = (await filesBeside(database)).filter((path) => !isAmong(path, own))
  return { own, others }
}

/** All are in one folder, which may be written in several ways. */
const isAmong = (path: string, files: readonly string[]): boolean =>
  files.some((file) => basename(file) === basename(path))

function removal(location: DatabaseLocation, path: string) {
  const { database, beside } = filesOfWarehouse(location)
  return database === null || isAmong(path, [database, ...beside])
    ? { why: 'it is not made by deskmirror, or an earlier process left it', command: null }
    : { why: 'it looks like a copy of the warehouse', command: `rm ${path}` }
}

function cleaning(database: string, { isRewritten, isLogEmpty }: Compacted) {
  const emptyLog = 'pragma wal_checkpoint(truncate)'
  const run = (statement: string) => `sqlite3 ${database} "${statement}"`
  if (isLogEmpty) return { why: 'free room within the file', command: run(`vacuum; ${emptyLog}`) }
  return {
    why:
      'another process is reading the warehouse, so that its log ' +
      'cannot be emptied; end that process first',
    command: run(isRewritten ? emptyLog : `vacuum; ${emptyLog}`),
  }
}
