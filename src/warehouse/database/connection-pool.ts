/** The connections of a database, reduced to what is needed, and kysely on top of them: the same for both databases. */
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import type { DatabaseSchema } from '../../../schema/tables.ts'

/** `affectedRows`: inserted, updated or deleted. Integers are numbers, beyond 2^53 bigints; times are RFC 3339 text. */
export type StatementResult = { readonly rows: readonly unknown[]; readonly affectedRows: number }

/** Where a column of a result comes from; null = from an expression. */
export type ColumnOrigin = {
  readonly table: string | null
  readonly column: string | null
  readonly declaredType: string | null
}

/** What only SQLite offers, because its rows are not sent by a server. */
export type LocalReads = {
  /** Rows one by one, as lists of values. Nothing else may run on the connection meanwhile. */
  readonly iterate: (text: string, parameters: readonly unknown[]) => Iterable<readonly unknown[]>
  readonly columnOrigins: (text: string) => readonly ColumnOrigin[]
}

export type DbConnection = {
  readonly run: (text: string, parameters: readonly unknown[]) => Promise<StatementResult>
  readonly local?: LocalReads
  /** Returns the connection to the pool; `broken`: it must not be used again. */
  readonly release: (broken: boolean) => void
}

export type ConnectionPool = {
  readonly kind: DatabaseKind
  readonly acquire: () => Promise<DbConnection>
  /** Other connections of the same database: what they commit is never part of a transaction that is open here. */
  readonly openSeparate: () => ConnectionPool
  readonly close: () => Promise<void>
}

export type Db = Kysely<DatabaseSchema>

export function openKysely(pool: ConnectionPool): Db {
  const isSqlite = pool.kind === 'sqlite'
  return new Kysely<DatabaseSchema>({
    dialect: {
      createAdapter: () => (isSqlite ? new SqliteAdapter() : new PostgresAdapter()),
      createQueryCompiler: () => (isSqlite ? new SqliteQueryCompiler() : new PostgresQueryCompiler()),
      createIntrospector: (db) => (isSqlite ? new SqliteIntrospector(db) : new PostgresIntrospector(db)),
      createDriver: () => createKyselyDriver(pool),
    },
  })
}

type KyselyConnection = DatabaseConnection & { readonly connection: DbConnection; isBroken: boolean }

function createKyselyDriver(pool: ConnectionPool): Driver {
  const run = (connection: DatabaseConnection, text: string) =>
    (connection as KyselyConnection).connection.run(text, [])
  return {
    init: async () => {},
    acquireConnection: async () => toKyselyConnection(await pool.acquire()),
    // Immediate: SQLite could deny the write to a transaction that has read before.
    beginTransaction: async (connection) =>
      void (await run(connection, pool.kind === 'sqlite' ? 'begin immediate' : 'begin')),
    commitTransaction: async (connection) => void (await run(connection, 'commit')),
    rollbackTransaction: async (connection) => {
      await run(connection, 'rollback').catch(() => {
        ;(connection as KyselyConnection).isBroken = true
      })
    },
    releaseConnection: async (kyselyConnection) => {
      const { connection, isBroken } = kyselyConnection as KyselyConnection
      connection.release(isBroken)
    },
    destroy: pool.close,
  }
}

function toKyselyConnection(connection: DbConnection): KyselyConnection {
  return {
    connection,
    isBroken: false,
    executeQuery: async <R>(query: CompiledQuery) => {
      const { rows, affectedRows } = await connection.run(query.sql, query.parameters)
      return { rows: rows as R[], numAffectedRows: BigInt(affectedRows) }
    },
    // biome-ignore lint/correctness/useYield: kysely requires the member; nothing streams.
    streamQuery: async function* () {
      throw new Error('queries cannot be streamed: page by key')
    },
  }
}
