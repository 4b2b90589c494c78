/** After an erasure: removes what the database keeps of deleted rows, and looks for the values. */
import { basename } from 'node:path'
import type { ConnectionPool, Db } from '../warehouse/connection-pool.ts'
import type { DatabaseLocation } from '../warehouse/location.ts'
import { filesOfWarehouse, isInMemory, sendsFile, sideFile } from '../warehouse/warehouse-files.ts'
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

type Database = { readonly db: Db; readonly pool: ConnectionPool }

export async function searchRemains(
  database: Database,
  location: DatabaseLocation,
  { values, tables: changed, isRepeated }: Erased,
  describePlace?: DescribePlace,
): Promise<RemainsReport> {
  const { db } = database
  const compacted = location.kind === 'sqlite' ? await compactSqlite(db, location) : null
  const unwritten = compacted === null ? await compactPostgres(db, changed) : []
  const search = { values, compacted, isRepeated, describePlace }
  const report = await searchWarehouse(database, location, search)
  return { ...report, remains: [...report.remains, ...unwritten] }
}

/** Looks for values, and changes nothing. */
export async function searchWarehouse(
  { db, pool }: Database,
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
  const own = ownFiles(location)
  const paths = await filesOf(location)
  const isOwn = (path: string) => own.includes(path)
  const files = [
    ...(await searchFiles(paths.filter(isOwn), gone)),
    ...(await searchFiles(
      paths.filter((path) => !isOwn(path)),
      [...gone, ...kept],
    )),
  ]
  const uncleaned = isRepeated && compacted !== null ? findUncleaned(location, compacted) : []
  const inFiles = files.flatMap(({ path, values: count }): readonly Remains[] => {
    const found = count === 0 && uncleaned.includes(path) ? null : count
    if (count === null || found === 0) return []
    return [{ place: basename(path), values: found, ...remedy(location, path, compacted) }]
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
function findUncleaned(location: DatabaseLocation, { isRewritten, isLogEmpty }: Compacted) {
  if (isRewritten && isLogEmpty) return []
  return ownFiles(location).slice(0, isLogEmpty ? 1 : 2)
}

/** The database and its log first. */
function ownFiles(location: DatabaseLocation): readonly string[] {
  if (location.kind === 'postgres') return []
  const { database } = filesOfWarehouse(location)
  const sides = (['log', 'index', 'rollback'] as const).map((side) => sideFile(location, side))
  return database === null ? [] : [database, ...sides]
}

async function filesOf(location: DatabaseLocation): Promise<readonly string[]> {
  if (location.kind === 'postgres') return [sendsFile(location)?.path ?? []].flat()
  const { database } = filesOfWarehouse(location)
  return database === null || isInMemory(location.path) ? [] : filesBeside(database)
}

function remedy(location: DatabaseLocation, path: string, compacted: Compacted | null) {
  const nothing = {
    why: 'it is not made by deskmirror, or an earlier process left it',
    command: null,
  }
  if (location.kind === 'postgres' || compacted === null) return nothing
  const { database } = filesOfWarehouse(location)
  if (!ownFiles(location).includes(path)) {
    const isCopy = !filesOfWarehouse(location).beside.includes(path)
    return isCopy
      ? { why: 'it looks like a copy of the warehouse', command: `rm ${path}` }
      : nothing
  }
  const run = (statement: string) => `sqlite3 ${database} "${statement}"`
  if (!compacted.isLogEmpty)
    return {
      why:
        'another process is reading the warehouse, so that its log ' +
        'cannot be emptied; end that process first',
      command: run(compacted.isRewritten ? emptyLog : `vacuum; ${emptyLog}`),
    }
  return { why: 'free room within the file', command: run(`vacuum; ${emptyLog}`) }
}

const emptyLog = 'pragma wal_checkpoint(truncate)'
