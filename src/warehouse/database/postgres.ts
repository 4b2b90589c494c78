/** Postgres through a pool: statements used often are prepared by name, values come as the warehouse speaks them. */
import { createHash } from 'node:crypto'
import { Socket } from 'node:net'
import pg from 'pg'
import { rfc3339 } from '../../core/time.ts'
import { isSettingRefused, survey } from './postgres-survey.ts'
import type { Ran, Session, Sessions } from './session.ts'

/** Postgres's numbers of the types that are not read as they come. Source: `select oid, typname from pg_type`. */
export const oids = { int8: 20, jsonb: 3802, json: 114, date: 1082, timestamptz: 1184, numeric: 1700 } as const

/** `2026-08-21 10:02:11.5+00`, as Postgres writes it, to `2026-08-21T10:02:11Z`. */
export function readTime(text: string): string {
  if (text[4] === '-' && text.endsWith('+00')) return `${text.slice(0, 10)}T${text.slice(11, 19)}Z`
  // The session is set to UTC, but a pooler in between may not care: an offset of hours, or of hours and minutes.
  const at = Date.parse(text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00'))
  if (!Number.isNaN(at)) return rfc3339(Math.floor(at / 1000))
  // `infinity`, and years that RFC 3339 cannot write.
  return /^-|BC$/.test(text) ? '0001-01-01T00:00:00Z' : '9999-12-31T23:59:59Z'
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
  [oids.date]: (text) => text,
  [oids.timestamptz]: readTime,
}

/**
 * A schema other than public is named in the URL: `?schema=desk`. Throws UserError where the database cannot be a
 * warehouse, and the driver's errors where there is none. `write`: it is to be written to.
 */
export async function postgresSessions(url: string, write = true): Promise<Sessions> {
  const direct = open(url, 'with settings')
  try {
    return await surveyed(direct, write)
  } catch (error) {
    if (!isSettingRefused(error)) throw error
  }
  // A pooler (PgBouncer) takes no settings for a connection.
  return surveyed(open(url, 'without settings'), write)
}

type Opened = { readonly pool: pg.Pool; readonly schema: string | null; readonly close: () => Promise<void> }

function open(url: string, how: 'with settings' | 'without settings'): Opened {
  const { connectionString, options, schema } = splitUrl(url)
  const sockets = new Set<Socket>()
  const pool = new pg.Pool({
    connectionString,
    stream: () => track(new Socket(), sockets),
    max: 6,
    connectionTimeoutMillis: 15_000,
    keepAlive: true,
    application_name: 'deskmirror',
    ...(how === 'with settings' ? { options } : {}),
    types: { getTypeParser: (oid: number) => readers[oid] ?? ((text: string) => standard(oid, text)) },
  })
  // A connection that breaks is replaced, and whoever uses it is told by its query; without listeners it would end the
  // process besides.
  pool.on('error', () => {})
  pool.on('connect', (client) => void client.on('error', () => {}))
  const close = async () => {
    await pool.end()
    // A connection that failed half way (no password) is left open by the pool, and would keep this process alive.
    for (const socket of sockets) socket.destroy()
  }
  return { pool, schema, close }
}

async function surveyed({ pool, schema, close }: Opened, write: boolean): Promise<Sessions> {
  try {
    const pooled = await survey(pool, schema, write)
    const prepared = new WeakMap<pg.PoolClient, Map<string, string>>()
    const sessions: Sessions = {
      kind: 'postgres',
      take: async () => session(await pool.connect(), pooled ? null : prepared),
      // Whoever takes a connection has it alone.
      apart: () => ({ ...sessions, close: async () => {} }),
      close,
    }
    return sessions
  } catch (error) {
    await close()
    throw error
  }
}

function track(socket: Socket, open: Set<Socket>): Socket {
  open.add(socket)
  return socket.once('close', () => open.delete(socket))
}

function standard(oid: number, text: string): unknown {
  return pg.types.getTypeParser(oid)(text)
}

/**
 * Takes `schema`, which the server does not know, and `options`, which would replace ours, out of the URL. Values come
 * in the form that `readTime` expects.
 */
export function splitUrl(url: string): {
  readonly connectionString: string
  readonly options: string
  readonly schema: string | null
} {
  const parsed = new URL(url)
  const schema = parsed.searchParams.get('schema') ?? ''
  const given = parsed.searchParams.get('options') ?? ''
  for (const name of ['schema', 'options']) parsed.searchParams.delete(name)
  // What the driver takes these for, with a warning of six lines on standard error; `uselibpqcompat` asks for less.
  const isStrict = parsed.searchParams.get('uselibpqcompat') === null
  if (isStrict && /^(prefer|require|verify-ca)$/.test(parsed.searchParams.get('sslmode') ?? '')) {
    parsed.searchParams.set('sslmode', 'verify-full')
  }
  const path = schema === '' ? [] : [`-c search_path=${quote(schema)}`]
  const settings = [given, '-c timezone=UTC', '-c datestyle=ISO', ...path]
  return { connectionString: parsed.href, options: settings.join(' ').trim(), schema: schema === '' ? null : schema }
}

/** An identifier as it is, within the server's command line: blanks and backslashes are escaped there. */
function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`.replace(/[\\ ]/g, '\\$&')
}

/** `known` null: nothing is prepared, as the next statement may run on another connection of the server. */
function session(client: pg.PoolClient, known: WeakMap<pg.PoolClient, Map<string, string>> | null): Session {
  const uses = known === null ? null : (known.get(client) ?? new Map<string, string>())
  if (uses !== null) known?.set(client, uses)
  let lost = false
  return {
    run: async (text, parameters) => {
      const name = uses === null ? undefined : nameFor(text, uses)
      const values = parameters as unknown[]
      try {
        return ran(await client.query(name === undefined ? { text, values } : { name, text, values }))
      } catch (error) {
        lost ||= isLost(error)
        throw error
      }
    },
    release: (broken) => client.release(broken || lost),
  }
}

/** The server ended the connection (class 57P), or it ended without the server's saying anything. */
function isLost(error: unknown): boolean {
  return !(error instanceof pg.DatabaseError) || /^(57P|08|25P0|26000|42P05)/.test(error.code ?? '')
}

/** A statement is worth preparing when it comes back; a connection keeps at most this many. */
const mostPrepared = 256

/** The same name is the same text in every process: with a pooler in between that nobody noticed, they share connections. */
function nameFor(text: string, uses: Map<string, string>): string | undefined {
  const name = uses.get(text)
  if (name === undefined && uses.size < mostPrepared) {
    uses.set(text, `dm_${createHash('sha1').update(text).digest('base64url')}`)
  }
  return name
}

function ran(result: pg.QueryResult): Ran {
  return { rows: result.rows, affected: result.rowCount ?? 0 }
}
