/** The connections of a database, reduced to what is needed, and kysely on top of them: the same for both databases. */

import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type RawBuilder,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import type { DatabaseKind } from '../../schema/column-types.ts'
import type { DatabaseSchema } from '../../schema/tables.ts'
import { explainRuntimeError } from './explain-error.ts'
import type { DatabaseLocation } from './location.ts'

/** `affectedRows`: inserted, updated or deleted. Integers are numbers, beyond 2^53 bigints; times are RFC 3339 text. */
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
  /** Rows in batches of bounded size, as lists of values. Nothing else may run on the connection meanwhile. */
  readonly readBatches: (text: string, parameters: readonly unknown[]) => AsyncIterable<readonly ValueList[]>
  readonly columnOrigins: (text: string) => Promise<readonly ColumnOrigin[]>
}

export type DbConnection = {
  readonly run: (text: string, parameters: readonly unknown[]) => Promise<StatementResult>
  /**
   * Sends a statement without waiting for the answer: if it fails, so does the next one that is run. Missing where it saves
   * no time.
   */
  readonly send?: (text: string, parameters: readonly unknown[]) => void
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

/** Failures of the database itself become errors for people. Anything else is a bug and is thrown as it is. */
export function withExplainedErrors(pool: ConnectionPool, location: DatabaseLocation): ConnectionPool {
  const explain = (error: unknown): never => {
    throw explainRuntimeError(location, error) ?? error
  }
  return {
    ...pool,
    openSeparate: () => withExplainedErrors(pool.openSeparate(), location),
    acquire: async () => {
      const connection = await pool.acquire().catch(explain)
      const local = connection.local && withExplainedReads(connection.local, explain)
      return { ...connection, ...(local && { local }), run: (...args) => connection.run(...args).catch(explain) }
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

/** Statements whose answers nobody waits for. */
const sentOnly = new WeakSet<CompiledQuery>()

/**
 * Runs a statement of a transaction whose result is not needed. In Postgres it is sent together with the next one, so that
 * both take one round trip; if it fails, the next one fails with its error, at the latest the commit.
 */
export async function sendStatement(trx: Db, statement: RawBuilder<unknown> | CompiledQuery): Promise<void> {
  const query = 'compile' in statement ? statement.compile(trx) : statement
  sentOnly.add(query)
  await trx.executeQuery(query)
}

export function openKysely(pool: ConnectionPool): Db {
  const isSqlite = pool.kind === 'sqlite'
  return new Kysely<DatabaseSchema>({
    dialect: {
      createAdapter: () => (isSqlite ? new PooledSqliteAdapter() : new PostgresAdapter()),
      createQueryCompiler: () => (isSqlite ? new SqliteQueryCompiler() : new PostgresQueryCompiler()),
      createIntrospector: (db) => (isSqlite ? new SqliteIntrospector(db) : new PostgresIntrospector(db)),
      createDriver: () => createKyselyDriver(pool),
    },
  })
}

/**
 * The pool serializes access itself. Kysely's own lock would be held for ever after a connection that could not be
 * acquired, and every later statement would wait for it.
 */
class PooledSqliteAdapter extends SqliteAdapter {
  override get supportsMultipleConnections() {
    return true
  }
}

type KyselyConnection = DatabaseConnection & {
  readonly connection: DbConnection
  isBroken: boolean
  isInTransaction: boolean
}

function createKyselyDriver(pool: ConnectionPool): Driver {
  const end = async (connection: DatabaseConnection, text: 'commit' | 'rollback') => {
    const ended = connection as KyselyConnection
    ended.isInTransaction = false
    await ended.connection.run(text, [])
  }
  return {
    init: async () => {},
    acquireConnection: async () => toKyselyConnection(await pool.acquire()),
    beginTransaction: async (kyselyConnection) => {
      const begun = kyselyConnection as KyselyConnection
      begun.isInTransaction = true
      if (begun.connection.send !== undefined) begun.connection.send('begin', [])
      // Immediate: SQLite could deny the write to a transaction that has read before.
      else await begun.connection.run(pool.kind === 'sqlite' ? 'begin immediate' : 'begin', [])
    },
    commitTransaction: (connection) => end(connection, 'commit'),
    rollbackTransaction: async (connection) => {
      await end(connection, 'rollback').catch(() => {
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
  const kyselyConnection: KyselyConnection = {
    connection,
    isBroken: false,
    isInTransaction: false,
    executeQuery: async <R>(query: CompiledQuery) => {
      // Outside of a transaction there may be no next statement that fails.
      if (connection.send !== undefined && kyselyConnection.isInTransaction && sentOnly.has(query)) {
        connection.send(query.sql, query.parameters)
        return { rows: [] }
      }
      const { rows, affectedRows } = await connection.run(query.sql, query.parameters)
      return { rows: rows as R[], numAffectedRows: BigInt(affectedRows) }
    },
    // biome-ignore lint/correctness/useYield: kysely requires the member; nothing streams.
    streamQuery: async function* () {
      throw new Error('queries cannot be streamed: page by key')
    },
  }
  return kyselyConnection
}
