/** One connection of a database, reduced to what is needed; and kysely on top of it, the same for every database. */
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

/** `affected`: rows inserted, updated or deleted. Integers come as numbers, beyond 2^53 as bigints; times as RFC 3339 text. */
export type StatementResult = { readonly rows: readonly unknown[]; readonly affectedRows: number }

export type DbConnection = {
  readonly run: (text: string, parameters: readonly unknown[]) => Promise<StatementResult>
  /** Hands the connection back; `broken`: it is not to be used again. */
  readonly release: (broken: boolean) => void
}

export type ConnectionPool = {
  readonly kind: DatabaseKind
  readonly acquire: () => Promise<DbConnection>
  /** More of the same database, where what one commits is never part of a transaction that another has open here. */
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
  const run = (connection: DatabaseConnection, text: string) => (connection as KyselyConnection).connection.run(text, [])
  return {
    init: async () => {},
    acquireConnection: async () => toKyselyConnection(await pool.acquire()),
    // Immediate: a transaction that reads first and writes later could not be granted the write in SQLite.
    beginTransaction: async (it) => void (await run(it, pool.kind === 'sqlite' ? 'begin immediate' : 'begin')),
    commitTransaction: async (it) => void (await run(it, 'commit')),
    rollbackTransaction: async (it) => {
      const connection = it as KyselyConnection
      await run(it, 'rollback').catch(() => {
        connection.isBroken = true
      })
    },
    releaseConnection: async (it) => {
      const { connection, isBroken } = it as KyselyConnection
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
    // biome-ignore lint/correctness/useYield: kysely asks for the member; nothing here streams.
    streamQuery: async function* () {
      throw new Error('queries are not streamed: walk by key')
    },
  }
}
