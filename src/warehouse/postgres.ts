/** Postgres through a pool: statements used often are prepared by name, values come as the warehouse speaks them. */
import { Socket } from 'node:net'
import pg from 'pg'
import type { Ran, Session, Sessions } from './session.ts'

/** Postgres's numbers of the types that are not read as they come. Source: `select oid, typname from pg_type`. */
export const oids = { int8: 20, jsonb: 3802, json: 114, timestamptz: 1184, numeric: 1700 } as const

/** `2026-08-21 10:02:11.5+00`, as Postgres writes it in UTC, to `2026-08-21T10:02:11Z`. */
export function readTime(text: string): string {
  return `${text.slice(0, 10)}T${text.slice(11, 19)}Z`
}

/** Integers as numbers, beyond 2^53 as bigints. */
export function readInteger(text: string): number | bigint {
  const value = Number(text)
  return Number.isSafeInteger(value) ? value : BigInt(text)
}

const readers: Readonly<Record<number, (text: string) => unknown>> = {
  [oids.int8]: readInteger,
  [oids.numeric]: Number,
  [oids.jsonb]: (text) => text,
  [oids.json]: (text) => text,
  [oids.timestamptz]: readTime,
}

/** A schema other than public is named in the URL: `?schema=desk`. */
export function postgresSessions(url: string): Sessions {
  const { connectionString, schema } = splitSchema(url)
  const settings = ['-c timezone=UTC', ...(schema === null ? [] : [`-c search_path=${schema}`])]
  const sockets = new Set<Socket>()
  const pool = new pg.Pool({
    connectionString,
    stream: () => track(new Socket(), sockets),
    max: 6,
    connectionTimeoutMillis: 15_000,
    keepAlive: true,
    application_name: 'deskmirror',
    options: settings.join(' '),
    types: { getTypeParser: (oid: number) => readers[oid] ?? ((text: string) => standard(oid, text)) },
  })
  // An idle connection that breaks is replaced by the pool; without a listener it would end the process.
  pool.on('error', () => {})
  const prepared = new WeakMap<pg.PoolClient, Map<string, number>>()
  return {
    kind: 'postgres',
    take: async () => session(await pool.connect(), prepared),
    close: async () => {
      await pool.end()
      // A connection that failed half way (no password) is left open by the pool, and would keep this process alive.
      for (const socket of sockets) socket.destroy()
    },
  }
}

function track(socket: Socket, open: Set<Socket>): Socket {
  open.add(socket)
  return socket.once('close', () => open.delete(socket))
}

function standard(oid: number, text: string): unknown {
  return pg.types.getTypeParser(oid)(text)
}

/** Takes `schema` out of the URL: the server knows no such parameter. Null = the server's own search path. */
export function splitSchema(url: string): { readonly connectionString: string; readonly schema: string | null } {
  const parsed = new URL(url)
  const schema = parsed.searchParams.get('schema')
  parsed.searchParams.delete('schema')
  return { connectionString: parsed.href, schema: schema === '' ? null : schema }
}

function session(client: pg.PoolClient, known: WeakMap<pg.PoolClient, Map<string, number>>): Session {
  const uses = known.get(client) ?? new Map<string, number>()
  known.set(client, uses)
  return {
    run: async (text, parameters) => {
      const name = nameFor(text, uses)
      const values = parameters as unknown[]
      const result = await client.query(name === undefined ? { text, values } : { name, text, values })
      return ran(result)
    },
    release: (broken) => client.release(broken),
  }
}

/** A statement is worth preparing when it comes back; a connection keeps at most this many. */
const mostPrepared = 256

function nameFor(text: string, uses: Map<string, number>): string | undefined {
  const number = uses.get(text)
  if (number === undefined && uses.size < mostPrepared) uses.set(text, uses.size)
  return number === undefined ? undefined : `dm${number}`
}

function ran(result: pg.QueryResult): Ran {
  return { rows: result.rows, affected: result.rowCount ?? 0 }
}
