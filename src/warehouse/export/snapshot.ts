/** Reads whole tables and views from one state of the database, in batches of bounded size. */
import type { CompiledQuery, RawBuilder } from 'kysely'
import type { ExportRow, ExportSelection, ExportSnapshot, ObjectName } from '../../core/export.ts'
import { UserError } from '../../core/user-error.ts'
import type { ConnectionPool, Db, DbConnection, LocalReads } from '../database/connection-pool.ts'
import {
  describePostgresObject,
  describeSqliteObject,
  listPostgresObjects,
  listSqliteObjects,
  type RunQuery,
  type SourceObject,
} from './objects.ts'
import { countQuery, rowsQuery } from './selection-query.ts'
import { createValueDecoder } from './values.ts'

type Reader = {
  readonly list: ExportSnapshot['listObjects']
  readonly describe: (object: ObjectName) => Promise<SourceObject>
  /** Rows as the database returns them, as lists of values. */
  readonly readBatches: (query: CompiledQuery, columns: readonly string[]) => AsyncIterable<readonly StoredRow[]>
}
type StoredRow = readonly unknown[]

/** The transaction only reads. It keeps no one from writing, in neither database. */
export async function withSnapshot<T>(
  db: Db,
  pool: ConnectionPool,
  work: (snapshot: ExportSnapshot) => Promise<T>,
): Promise<T> {
  const connection = await pool.acquire()
  let isBroken = false
  try {
    await connection.run(beginStatements[pool.kind], [])
    return await work(createSnapshot(db, pool.kind, connection))
  } finally {
    await connection.run('rollback', []).catch(() => {
      isBroken = true
    })
    connection.release(isBroken)
  }
}

/** SQLite's transaction sees one state from its first read on. */
const beginStatements: Readonly<Record<ConnectionPool['kind'], string>> = {
  sqlite: 'begin',
  postgres: 'begin transaction isolation level repeatable read, read only',
}

function createSnapshot(db: Db, kind: ConnectionPool['kind'], connection: DbConnection): ExportSnapshot {
  const run: RunQuery = async <Row>(query: RawBuilder<Row>) => {
    const { sql, parameters } = query.compile(db)
    return (await connection.run(sql, parameters)).rows as readonly Row[]
  }
  const reader = connection.local === undefined ? postgresReader(run, connection) : sqliteReader(run, connection.local)
  const described = new Map<string, Promise<SourceObject>>()
  const describe = (object: ObjectName) => {
    const source = described.get(object.name) ?? reader.describe(object)
    described.set(object.name, source)
    return source
  }
  return {
    listObjects: reader.list,
    describe: (object) => describe(object).catch((error: unknown) => explainViewError(object, error)),
    countRows: async (selection) => (await run(countQuery(kind, selection)))[0]?.rows ?? 0,
    async *readRows(selection: ExportSelection) {
      const { object, columns } = selection
      const source = await describe(object)
      const decoders = columns.map((column) => createValueDecoder(object.name, column, kind))
      const query = rowsQuery(kind, selection, source).compile(db)
      const names = columns.map(({ name }) => name)
      try {
        for await (const batch of reader.readBatches(query, names)) {
          yield batch.map((row): ExportRow => decoders.map((decode, n) => decode(row[n])))
        }
      } catch (error) {
        explainViewError(object, error)
      }
    },
  }
}

/** A view may be wrong, or fail for some rows: that is for its author. The driver's message may quote values. */
function explainViewError({ name, kind }: ObjectName, error: unknown): never {
  const code = error instanceof Error && 'code' in error ? String(error.code) : null
  if (kind !== 'view' || code === null || error instanceof UserError) throw error
  throw new UserError({
    what: `cannot export ${name}`,
    why: `the database cannot compute this view (${code})`,
    next: `correct it: \`select * from ${name}\` in the database shows the error`,
    exitCode: 2,
  })
}

/** How much a batch should hold, in characters. */
const targetSize = 1_000_000
const maxRows = 1000

function sqliteReader(run: RunQuery, local: LocalReads): Reader {
  return {
    list: () => listSqliteObjects(run),
    describe: (object) => describeSqliteObject(run, local, object),
    async *readBatches({ sql, parameters }) {
      let [batch, size]: [StoredRow[], number] = [[], 0]
      for (const row of local.iterate(sql, parameters)) {
        batch.push(row)
        size += rowSize(row)
        if (size < targetSize && batch.length < maxRows) continue
        yield batch
        ;[batch, size] = [[], 0]
      }
      if (batch.length > 0) yield batch
    },
  }
}

function postgresReader(run: RunQuery, connection: DbConnection): Reader {
  let cursors = 0
  return {
    list: () => listPostgresObjects(run),
    describe: (object) => describePostgresObject(run, object),
    async *readBatches({ sql, parameters }, columns) {
      // Each has a name of its own, as a prepared `fetch` must always return the same columns.
      const cursor = `export_${++cursors}`
      await connection.run(`declare ${cursor} no scroll cursor for ${sql}`, parameters)
      for (let rows = 10; ; ) {
        const fetched = await connection.run(`fetch forward ${rows} from ${cursor}`, [])
        const batch = (fetched.rows as Readonly<Record<string, unknown>>[]).map((row) =>
          columns.map((name) => row[name]),
        )
        if (batch.length > 0) yield batch
        if (batch.length < rows) break
        rows = nextFetch(rows, batch)
      }
      await connection.run(`close ${cursor}`, [])
    },
  }
}

/** As many as should fit, judged by the last ones, and at most ten times as many: the next ones may be larger. */
function nextFetch(rows: number, batch: readonly StoredRow[]): number {
  const size = batch.reduce((sum, row) => sum + rowSize(row), 0)
  return Math.max(1, Math.min(maxRows, rows * 10, Math.floor((targetSize * rows) / Math.max(1, size))))
}

function rowSize(row: StoredRow): number {
  return row.reduce((sum: number, value) => sum + (typeof value === 'string' ? value.length : 8), 0)
}
