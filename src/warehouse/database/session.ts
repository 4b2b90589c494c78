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
import type { DatabaseKind } from '../../../schema/portable.ts'
import type { Schema } from '../../../schema/tables.ts'

/** `affected`: rows inserted, updated or deleted. Integers come as numbers, beyond 2^53 as bigints; times as RFC 3339 text. */
export type Ran = { readonly rows: readonly unknown[]; readonly affected: number }

export type Session = {
  readonly run: (text: string, parameters: readonly unknown[]) => Promise<Ran>
  /** Hands the connection back; `broken`: it is not to be used again. */
  readonly release: (broken: boolean) => void
}

export type Sessions = {
  readonly kind: DatabaseKind
  readonly take: () => Promise<Session>
  /** More of the same database, where what one commits is never part of a transaction that another has open here. */
  readonly apart: () => Sessions
  readonly close: () => Promise<void>
}

export type Db = Kysely<Schema>

export function openKysely(sessions: Sessions): Db {
  const sqlite = sessions.kind === 'sqlite'
  return new Kysely<Schema>({
    dialect: {
      createAdapter: () => (sqlite ? new SqliteAdapter() : new PostgresAdapter()),
      createQueryCompiler: () => (sqlite ? new SqliteQueryCompiler() : new PostgresQueryCompiler()),
      createIntrospector: (db) => (sqlite ? new SqliteIntrospector(db) : new PostgresIntrospector(db)),
      createDriver: () => driver(sessions),
    },
  })
}

type Connection = DatabaseConnection & { readonly session: Session; broken: boolean }

function driver(sessions: Sessions): Driver {
  const run = (connection: DatabaseConnection, text: string) => (connection as Connection).session.run(text, [])
  return {
    init: async () => {},
    acquireConnection: async () => connect(await sessions.take()),
    // Immediate: a transaction that reads first and writes later could not be granted the write in SQLite.
    beginTransaction: async (it) => void (await run(it, sessions.kind === 'sqlite' ? 'begin immediate' : 'begin')),
    commitTransaction: async (it) => void (await run(it, 'commit')),
    rollbackTransaction: async (it) => {
      const connection = it as Connection
      await run(it, 'rollback').catch(() => {
        connection.broken = true
      })
    },
    releaseConnection: async (it) => {
      const { session, broken } = it as Connection
      session.release(broken)
    },
    destroy: sessions.close,
  }
}

function connect(session: Session): Connection {
  return {
    session,
    broken: false,
    executeQuery: async <R>(query: CompiledQuery) => {
      const { rows, affected } = await session.run(query.sql, query.parameters)
      return { rows: rows as R[], numAffectedRows: BigInt(affected) }
    },
    // biome-ignore lint/correctness/useYield: kysely asks for the member; nothing here streams.
    streamQuery: async function* () {
      throw new Error('queries are not streamed: walk by key')
    },
  }
}
