/**
 * Looks for erased values in all tables, those of people as well: every column of every row once,
 * for all values together. And in definitions and, in Postgres, statistics.
 */
import { type RawBuilder, sql } from 'kysely'
import { tables as ownTables, sourceOf } from '../../../schema/tables.ts'
import { errorCode } from '../../values/user-error.ts'
import {
  beginSnapshot,
  type ConnectionPool,
  type Db,
  type ValueList,
} from '../../warehouse/connection-pool.ts'
import { isInSchema, quoteName } from '../../warehouse/dialect.ts'
import { batchReader } from '../../warehouse/postgres-cursor.ts'
import { createFinder } from '../core/byte-finder.ts'
import type { ErasedValue } from '../core/erased-values.ts'
import { createTally, type Piece, type Place, piecesOf, type Remains } from '../core/remains.ts'

/** A place that could not be looked through. */
export type Unread = { readonly place: string; readonly why: string }

/** `kind`: of the table. */
type Table = {
  readonly name: string
  readonly kind: 'table' | 'materialized view'
  readonly isReadable: boolean
  readonly columns: readonly string[]
}

/** What a column of a table says about values that are found there. */
export type DescribePlace = (table: Pick<Table, 'name' | 'kind'>, column: string) => Place

export async function searchTables(
  db: Db,
  pool: ConnectionPool,
  values: readonly ErasedValue[],
  describePlace: DescribePlace = placeOf,
) {
  const search = createSearch(piecesOf(values))
  const { tally } = search
  const unread: Unread[] = []
  const listed = await (pool.kind === 'sqlite' ? listSqliteTables(db) : listPostgresTables(db))
  for (const table of listed) {
    const places = table.columns.map((column) => describePlace(table, column))
    const why = table.isReadable
      ? await readTable(pool, table, (rows) => {
          for (const [n, place] of places.entries()) search.scan(rows, n, place)
        })
      : 'the role may not read it'
    if (why !== null) unread.push({ place: table.name, why })
  }
  for (const { name, text, what } of await listDefinitions(db, pool.kind))
    search.scan([[text]], 0, placeOfDefinition(name, what))
  const inStatistics =
    pool.kind === 'postgres' ? await searchStatistics(db, tally.notInTables()) : []
  return {
    tables: listed.length,
    remains: [...tally.remains(), ...inStatistics],
    unread,
    /** Texts that rows of other people have as well. */
    common: tally.countCommon(),
    /** What is in no table, so that it means something in a file. */
    gone: tally.notInFiles(),
    /** Ids that only the list of erased ones has: in another file they are of a copy. */
    kept: tally.onlyKept(),
  }
}

/** Null: it was read. One that fails, or is dropped, does not keep the others from being read. */
async function readTable(
  pool: ConnectionPool,
  { name, columns }: Table,
  onRows: (rows: readonly ValueList[]) => void,
): Promise<string | null> {
  const connection = await pool.acquire()
  const text = `select ${columns.map(quoteName).join(', ')} from ${quoteName(name)}`
  try {
    await connection.run(beginSnapshot[pool.kind], [])
    for await (const rows of batchReader(connection)(text, [], columns)) onRows(rows)
    return null
  } catch (error) {
    const code = errorCode(error)
    return code === '' ? String(error) : `the database cannot read it (${code})`
  } finally {
    const failed = await connection.run('rollback', []).catch(() => null)
    connection.release(failed === null)
  }
}

/** Between cells, as around a text within JSON. */
const separator = '"'

function createSearch(pieces: readonly Piece[]) {
  const find = createFinder(pieces.map(({ text }) => text))
  const tally = createTally(pieces)
  return {
    tally,
    /** A column of some rows is searched as a whole. */
    scan(rows: readonly ValueList[], column: number, place: Place): void {
      const data = toBytes(rows.map((row) => row[column]))
      find(data, (n, start) => {
        const piece = pieces[n]
        return piece === undefined || tally.add(place, n, matchAt(data, start, piece))
      })
    },
  }
}

/** `jo@example.com` is in `mojo@example.com`, which is someone else's. */
function matchAt(data: Buffer, start: number, { text, kind }: Piece) {
  if (kind === 'text' && !text.includes('@')) return 'part'
  const end = start + Buffer.byteLength(text)
  const before = data.toString('latin1', Math.max(0, start - 2), start)
  const after = data.toString('latin1', end, end + 2)
  if (/(?:^|")$/.test(before) && /^(?:$|")/.test(after)) return 'whole'
  // A line break within JSON is a letter behind a backslash.
  const beginsWord = !/[\w.+%\x80-\xff-]$/.test(before) || /\\[bfnrt]$/.test(before)
  return beginsWord && !/^(?:[\w\x80-\xff-]|\.\w)/.test(after) ? 'part' : 'longer'
}

function toBytes(cells: readonly unknown[]): Buffer {
  if (!cells.some((cell) => typeof cell === 'object' && cell !== null))
    return Buffer.from(cells.map((cell) => (typeof cell === 'string' ? cell : '')).join(separator))
  const parts = cells.map((cell) => (Buffer.isBuffer(cell) ? cell : Buffer.from(textOf(cell))))
  return Buffer.concat(
    parts.flatMap((part, n) => (n === 0 ? [part] : [Buffer.from(separator), part])),
  )
}

function textOf(cell: unknown): string {
  if (typeof cell === 'string') return cell
  return typeof cell === 'object' && cell !== null ? JSON.stringify(cell) : ''
}

export function placeOf({ name, kind }: Pick<Table, 'name' | 'kind'>, column: string): Place {
  const place = `${name}.${column}`
  if (name === 'erased_ids') return { place, isKept: true, why: '', command: null }
  if (/^calls(_history)?$/.test(name))
    return { place, ofOthers: true, why: namesNobody, command: null }
  if (sourceOf(name) !== null)
    return { place, ofOthers: true, why: 'rows of other people have it', command: null }
  if (kind === 'materialized view')
    return {
      place,
      why: 'it shows older rows',
      command: `refresh materialized view ${quoteIfNeeded(name)}`,
    }
  if (name === 'console_events')
    return { place, why: 'the audit log is only added to, and kept for its time', command: null }
  if (name.startsWith('sqlite_stat'))
    return { place, why: 'statistics of an index', command: 'analyze' }
  return {
    place,
    why: name in ownTables ? 'people or the service wrote it there' : 'someone made this table',
    command: null,
  }
}

const namesNobody =
  'rows of other people, or in a field that analytics.calls.visitor does not name: name ' +
  'it, and erase again'

const quoteIfNeeded = (name: string): string =>
  /^[a-z_][a-z0-9_]*$/.test(name) ? name : quoteName(name)

/** Virtual tables are stored in others. */
async function listSqliteTables(db: Db): Promise<readonly Table[]> {
  const { rows } = await sql<{ name: string; columns: string }>`
    select name, (select json_group_array(name) from pragma_table_xinfo(m.name) where hidden <> 1)
    as columns
    from sqlite_master as m where type = 'table' and sql not like 'create virtual table%'
    order by name`.execute(db)
  return rows.map(({ name, columns }) => {
    return { name, kind: 'table', isReadable: true, columns: JSON.parse(columns) as string[] }
  })
}

/** Types whose values are no texts. */
const plainTypes =
  sql.raw(`'bool', 'int2', 'int4', 'int8', 'float4', 'float8', 'numeric', 'oid', 'date', 'time',
  'timestamp', 'timestamptz', 'interval'`)

async function listPostgresTables(db: Db): Promise<readonly Table[]> {
  const { rows } = await sql<Omit<Table, 'kind'> & { relkind: string }>`
    select c.relname as name, c.relkind, c.relkind <> 'f' and has_table_privilege(c.oid, 'select')
    as "isReadable",
      array(select cast(attname as text) from pg_attribute a join pg_type t on t.oid = a.atttypid
        where attrelid = c.oid and attnum > 0 and not attisdropped
        and t.typname not in (${plainTypes})
          and a.attname <> 'project_id' order by attnum) as columns
    from pg_class c where ${isInSchema}
      and relkind in ('r', 'm', 'f') order by relname`.execute(db)
  return rows
    .filter(({ columns }) => columns.length > 0)
    .map(({ relkind, ...table }) => ({
      ...table,
      kind: relkind === 'm' ? 'materialized view' : 'table',
    }))
}

/** The words of our own tables are no one's. */
function placeOfDefinition(name: string, what: string): Place {
  const place = `definition of ${name}`
  if (name in ownTables)
    return { place, ofOthers: true, why: 'a field has this name', command: null }
  const command = what === 'table' ? null : `drop ${what} ${quoteIfNeeded(name)}`
  return { place, why: 'someone made it', command }
}

/** A view or a partial index may name a value, and a column may be named by one. */
async function listDefinitions(db: Db, kind: ConnectionPool['kind']) {
  const query: RawBuilder<Record<'name' | 'text' | 'what', string>> =
    kind === 'sqlite'
      ? sql`select name, sql as text, type as what from sqlite_master where sql is not null`
      : sql`
        select relname as name, pg_get_viewdef(oid) as text,
          case relkind when 'v' then 'view' else 'materialized view' end as what
        from pg_class where ${isInSchema} and relkind in ('v', 'm')
        union all select relname, pg_get_indexdef(oid), 'index' from pg_class where ${isInSchema}
        and relkind = 'i'
        union all select relname, (select string_agg(attname, ' ') from pg_attribute
        where attrelid = c.oid), 'table'
        from pg_class as c where ${isInSchema} and relkind = 'r'`
  return (await query.execute(db)).rows
}

type StatisticsRow = {
  readonly name: string
  readonly index: string | null
  readonly values: unknown
}

/** Of columns, of expressions in indexes, and of several columns together. */
async function searchStatistics(db: Db, gone: readonly Piece[]): Promise<readonly Remains[]> {
  const { tally, scan } = createSearch(gone)
  for (const { name, index, values } of await readStatistics(db)) {
    const rebuild = `drop index ${quoteIfNeeded(index ?? '')}, and create it again`
    const place: Place = {
      place: `statistics of ${name}`,
      why:
        index === null
          ? 'Postgres keeps samples of its values'
          : 'Postgres keeps samples of an index without rows',
      command: index === null ? `analyze ${quoteIfNeeded(name.split('.')[0] ?? '')}` : rebuild,
    }
    scan([[values]], 0, place)
  }
  return tally.remains()
}

async function readStatistics(db: Db): Promise<readonly StatisticsRow[]> {
  const texts = (name: string) => `coalesce(cast(${name} as text), '')`
  const shown = ['most_common_vals', 'histogram_bounds', 'most_common_elems']
    .map(texts)
    .join(` || ' ' || `)
  const { rows } = await sql<StatisticsRow>`
    select s.tablename || '.' || s.attname as name, i.relname as index, ${sql.raw(shown)} as values
    from pg_stats s left join pg_class i on i.relname = s.tablename and i.relkind = 'i'
      and ${isInSchema}
    where s.schemaname = current_schema() and s.tablename <> 'erased_ids'`.execute(db)
  return [
    ...rows,
    ...(await readExtended(db, 'pg_stats_ext')),
    ...(await readExtended(db, 'pg_stats_ext_exprs')),
  ]
}

/** Earlier versions of Postgres do not have both views. */
async function readExtended(
  db: Db,
  view: 'pg_stats_ext' | 'pg_stats_ext_exprs',
): Promise<readonly StatisticsRow[]> {
  const { rows: known } = await sql<{ name: string | null }>`
    select cast(to_regclass(${`pg_catalog.${view}`}) as text) as name`.execute(db)
  if (known[0]?.name == null) return []
  const { rows } = await sql<StatisticsRow>`
    select tablename || '.' || statistics_name as name, null as index, cast(s as text) as values
    from ${sql.table(view)} as s where schemaname = current_schema()`.execute(db)
  return rows
}
