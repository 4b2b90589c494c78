/** Creates what a database does not have yet of this version's tables, columns and indexes. */
import { randomUUID } from 'node:crypto'
import { type QueryExecutorProvider, sql } from 'kysely'
import { analyticsTables } from './analytics-tables.ts'
import { columnTypes, type DatabaseKind, plainType } from './column-types.ts'
import { indexes, uniqueIndexes } from './indexes.ts'
import { type ChildStreamName, childStreamNames, streamSpecs } from './stream-specs.ts'
import { type ColumnSpec, storedTable, storedTables, type TableSpec, tables } from './tables.ts'
import { columnClauses, tableClauses } from './writeback-constraints.ts'

export type Run = (statement: string) => Promise<readonly Readonly<Record<string, unknown>>[]>

export const runOn =
  (db: QueryExecutorProvider): Run =>
  async (statement) =>
    (await sql.raw<Readonly<Record<string, unknown>>>(statement).execute(db)).rows

/** It need not be the first of the search path; quoted if necessary. */
export async function schemaOf(run: Run): Promise<string> {
  const [found] = await run(`
    select pg_catalog.quote_ident(nspname) as schema from pg_catalog.pg_class
    join pg_catalog.pg_namespace on pg_namespace.oid = relnamespace
    where pg_class.oid = pg_catalog.to_regclass('writebacks')`)
  if (found === undefined) throw new Error('there is no table writebacks')
  return String(found.schema)
}

/** Tables that people read as a view. */
const hidden = new Set(Object.values<TableSpec>(tables).map(({ storedIn }) => storedIn))

/** Columns that are new in a table with rows may be null, or have a default. */
export async function createMissing(run: Run, kind: DatabaseKind): Promise<void> {
  const existing = await readTables(run, kind)
  if (kind === 'postgres') await run('create sequence if not exists writebacks_seq')
  if (kind === 'postgres') await run('create sequence if not exists writeback_events_seq')
  for (const [name, spec] of storedTables) {
    const found = existing.get(name)
    const statements =
      found === undefined ? createWithRows(kind, name, spec) : addColumns(kind, name, spec, found)
    for (const statement of statements) await run(statement)
  }
  for (const stream of childStreamNames)
    if (!existing.has(storedTable(stream))) await run(addPending(stream))
  if (kind === 'postgres') await run('alter sequence writebacks_seq owned by writebacks.seq')
  if (kind === 'postgres')
    await run('alter sequence writeback_events_seq owned by writeback_events.seq')
  for (const statement of searchIndex[kind]) await run(statement)
  for (const index of uniqueIndexes) await run(`create unique index if not exists ${index}`)
  for (const index of indexes) await run(`create index if not exists ${index}`)
}

/** Of a stream that is new in this version, all children are still to be read. */
function addPending(stream: ChildStreamName): string {
  const parents = streamSpecs[streamSpecs[stream].parent].table
  return `insert into sync_children (project_id, stream, parent_id, requested_version, read_version,
    due_at, attempts)
    select project_id, '${stream}', id, 1, 0, ${Date.now()}, 0 from ${parents}
    where deleted_at is null
    on conflict do nothing`
}

/** The columns of each table. */
export async function readTables(
  run: Run,
  kind: DatabaseKind,
): Promise<ReadonlyMap<unknown, ReadonlySet<unknown>>> {
  const columns = await run(
    kind === 'sqlite'
      ? `select m.name as "table", c.name as "column" from sqlite_master m
        join pragma_table_info(m.name) c
          where m.type = 'table' and m.sql not like 'create virtual %'`
      : `select relname as "table", attname as "column" from pg_class
          join pg_namespace on pg_namespace.oid = relnamespace and nspname = current_schema()
          join pg_attribute on attrelid = pg_class.oid and attnum > 0 and not attisdropped
          where relkind = 'r'`,
  )
  const byTable = Map.groupBy(columns, ({ table }) => table)
  return new Map(
    [...byTable].map(([table, found]) => [table, new Set(found.map(({ column }) => column))]),
  )
}

function createWithRows(kind: DatabaseKind, name: string, spec: TableSpec): readonly string[] {
  const { postgresIndex } = spec
  // Without a key, a publication would refuse every change of a row.
  const withoutKey = [
    `create index ${name}_by_parent on ${name} (${postgresIndex?.join(', ')})`,
    `alter table ${name} replica identity full`,
  ]
  return [
    createTable(kind, name, spec),
    ...(kind === 'sqlite' || postgresIndex === undefined ? [] : withoutKey),
    ...(firstRows[name]?.() ?? []),
  ]
}

function createTable(kind: DatabaseKind, name: string, spec: TableSpec): string {
  const { key, postgresIndex, columns } = spec
  const isPacked = kind === 'postgres' && hidden.has(name)
  const listed = isPacked ? Object.entries(columns).sort(byWidth) : Object.entries(columns)
  const declared = listed.map(([column, spec]) => declare(kind, name, column, spec))
  const hasKey = kind === 'sqlite' || postgresIndex === undefined
  const rules = [
    ...(hasKey ? [`primary key (${key.join(', ')})`] : []),
    ...(tableClauses(kind)[name] ?? []),
  ]
  // All facts are found by their keys, so an index beside the rows would only take room.
  const layout = kind === 'sqlite' && name in analyticsTables ? ' without rowid' : ''
  return `create table ${name} (${[...declared, ...rules].join(', ')})${layout}`
}

function addColumns(
  kind: DatabaseKind,
  name: string,
  { columns }: TableSpec,
  found: ReadonlySet<unknown>,
) {
  const missing = Object.entries(columns).filter(([column]) => !found.has(column))
  return missing.map(
    ([column, spec]) => `alter table ${name} add column ${declare(kind, name, column, spec)}`,
  )
}

const wide: readonly string[] = ['bigint', 'timestamptz']

/** Eight bytes first: behind a text they would begin at the next multiple of eight. */
function byWidth([, [one]]: [string, ColumnSpec], [, [other]]: [string, ColumnSpec]): number {
  const isWide = (type: ColumnSpec[0]) =>
    Number(wide.includes(columnTypes[plainType[type]].postgres))
  return isWide(other) - isWide(one)
}

function declare(kind: DatabaseKind, table: string, column: string, [type]: ColumnSpec): string {
  const clauses = [
    type.endsWith('?') ? '' : ' not null',
    columnClauses[kind][table]?.[column] ?? '',
  ]
  return `${column} ${columnTypes[plainType[type]][kind]}${clauses.join(' ').trimEnd()}`
}

const firstRows: Readonly<Record<string, () => readonly string[]>> = {
  sync_sends: () => [
    `insert into sync_sends (project_id, token, sends) values ('', '${randomUUID()}', 0)`,
  ],
  sync_installation: () => [`insert into sync_installation (id) values ('${randomUUID()}')`],
}

/** Without the texts themselves and, in SQLite, without positions of words: a third of the size. */
const searchIndex: Readonly<Record<DatabaseKind, readonly string[]>> = {
  sqlite: [
    `create virtual table if not exists search_words using fts5(words, content='',
      contentless_delete=1, detail=none,
      tokenize="unicode61 remove_diacritics 2")`,
  ],
  postgres: [
    'create table if not exists search_words (id bigint not null ' +
      'primary key, words tsvector not null)',
    'create index if not exists search_words_found on search_words using gin (words)',
  ],
}
