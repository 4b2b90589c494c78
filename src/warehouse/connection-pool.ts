/** The connections of a database, and kysely on top of them: the same for both databases. */

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
import type { DatabaseKind } from '../../schema/column-types.ts'
import type { DatabaseSchema } from '../../schema/tables.ts'
import { explainRuntimeError } from './explain-error.ts'
import type { DatabaseLocation } from './location.ts'

/** Integers are numbers, beyond 2^53 bigints; times are RFC 3339 text. */
export type StatementResult = { readonly rows: readonly unknown[]; readonly affectedRows: number }

/** Where a column of a result comes from; null = from an expression. */
export type ColumnOrigin = {
  readonly table: string | null
  readonly column: string | null
  readonly declaredType: string | null
}

export type ValueList = readonly unknown[]

/** What only SQLite offers, because its rows are not sent by a server. */
export type LocalReads = {
  /** In batches of bounded size, as lists of values. The connection is busy meanwhile. */
  readonly readBatches: (
    text: string,
    parameters: readonly unknown[],
  ) => AsyncIterable<readonly ValueList[]>
  readonly columnOrigins: (text: string) => Promise<readonly ColumnOrigin[]>
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
  readonly close: () => Promise<void>
}

export type Db = Kysely<DatabaseSchema>

/** Failures of the database become errors for people. All else is a bug and thrown as it is. */
export function withExplainedErrors(
  pool: ConnectionPool,
  location: DatabaseLocation,
): ConnectionPool {
  const explain = (error: unknown): never => {
    throw explainRuntimeError(location, error) ?? error
  }
  return {
    ...pool,
    acquire: async () => {
      const connection = await pool.acquire().catch(explain)
      const local = connection.local && withExplainedReads(connection.local, explain)
      return {
        ...connection,
        ...(local && { local }),
        run: (...args) => connection.run(...args).catch(explain),
      }
    },
  }
}

function withExplainedReads(local: LocalReads, explain: (error: unknown) => never): LocalReads {
  return {
    ...local,
    async *readBatches(text, parameters) {
      try {
        yield* local.readBatches(text, parameters)
      } catch (error) {
        explain(error)
      }
    },
  }
}

export function openKysely(pool: ConnectionPool): Db {
  const isSqlite = pool.kind === 'sqlite'
  return new Kysely<DatabaseSchema>({
    dialect: {
      createAdapter: () => (isSqlite ? new PooledSqliteAdapter() : new PostgresAdapter()),
      createQueryCompiler: () =>
        isSqlite ? new SqliteQueryCompiler() : new PostgresQueryCompiler(),
      createIntrospector: (db) =>
        isSqlite ? new SqliteIntrospector(db) : new PostgresIntrospector(db),
      createDriver: () => createKyselyDriver(pool),
    },
  })
}

/**
 * The pool serializes access itself. Kysely's own lock would be held for ever after a connection
 * that could not be acquired.
 */
class PooledSqliteAdapter extends SqliteAdapter {
  override get supportsMultipleConnections() {
    return true
  }
}

type KyselyConnection = DatabaseConnection & {
  readonly connection: DbConnection
  isBroken: boolean
}

/**
 * Immediate: SQLite could deny the write to a transaction that has read before. In Postgres the
 * level is named, as under another default a transaction does not see what it has waited for.
 */
export const beginStatements: Readonly<Record<DatabaseKind, string>> = {
  sqlite: 'begin immediate',
  postgres: 'begin isolation level read committed',
}

/** SQLite's transaction sees one state from its first read on. */
export const beginSnapshot: Readonly<Record<DatabaseKind, string>> = {
  sqlite: 'begin',
  postgres: 'begin isolation level repeatable read, read only',
}

/**
 * Statements are sent at once, in order, without waiting for results: kysely waits, a round trip
 * for each. `begin`: the first ones, without parameters.
 */
export function inPipeline<T>(db: Db, begin: string, work: (trx: Db) => Promise<T>): Promise<T> {
  return db.getExecutor().provideConnection(async (kyselyConnection) => {
    const { connection } = kyselyConnection as KyselyConnection
    let hasEnded = false
    const run: DbConnection['run'] = async (text, parameters) => {
      if (hasEnded) throw new Error('the transaction has ended')
      return connection.run(text, parameters)
    }
    try {
      await run(begin, [])
      const result = await work(onConnection('postgres', run))
      hasEnded = true
      await connection.run('commit', [])
      return result
    } catch (error) {
      hasEnded = true
      await connection.run('rollback', []).catch(() => {
        ;(kyselyConnection as KyselyConnection).isBroken = true
      })
      throw error
    }
  })
}

/** For a connection that is held: all statements of the result run on it. */
export function onConnection(kind: DatabaseKind, run: DbConnection['run']): Db {
  const acquire = async () => ({ run, release: () => {} })
  return openKysely({ kind, acquire, close: async () => {} })
}

function createKyselyDriver(pool: ConnectionPool): Driver {
  const run = async (kyselyConnection: DatabaseConnection, text: string) => {
    await (kyselyConnection as KyselyConnection).connection.run(text, [])
  }
  return {
    init: async () => {},
    acquireConnection: async () => toKyselyConnection(await pool.acquire()),
    beginTransaction: (connection) => run(connection, beginStatements[pool.kind]),
    commitTransaction: (connection) => run(connection, 'commit'),
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
