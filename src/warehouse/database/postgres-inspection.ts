/** Inspects a Postgres when it is opened: whether there is a pooler in between, and whether its encoding fits. */
import pg from 'pg'
import { UserError } from '../../core/user-error.ts'

type ServerSettings = {
  readonly pid: number
  readonly encoding: string
  readonly dates: string
  readonly schema: string | null
}

/** Class 08P01: `unsupported startup parameter: options`. */
export function areOptionsRejected(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === '08P01' && /startup parameter/.test(error.message)
}

/**
 * Whether there is a pooler in between, which may give each transaction another connection of the server. A server
 * tells its client the id of its own process; a pooler has many servers and tells an id of its own.
 */
export async function inspectServer(pool: pg.Pool, schema: string | null, isWriter: boolean): Promise<boolean> {
  const client = await pool.connect()
  try {
    const { rows } = await client.query<ServerSettings>(
      `select pg_backend_pid() as pid, current_setting('server_encoding') as encoding,
        current_setting('DateStyle') as dates, current_schema() as schema`,
    )
    const [settings] = rows
    if (settings === undefined) throw new Error('the query returned no row')
    if (isWriter && settings.encoding !== 'UTF8') throw encodingError(settings.encoding)
    const hasPooler = 'processID' in client && client.processID !== settings.pid
    if (hasPooler) rejectLostSettings(settings, schema)
    return hasPooler
  } finally {
    client.release()
  }
}

/** SQL_ASCII does not work either: it stores bytes and knows no characters, so lengths and JSON would be wrong. */
function encodingError(encoding: string): UserError {
  return new UserError({
    what: 'cannot use this database as the warehouse',
    why: `its encoding is ${encoding}, which cannot hold all characters`,
    next: 'create one that can: createdb --encoding=UTF8 --template=template0 NAME',
    exitCode: 2,
  })
}

function rejectLostSettings({ schema: current, dates }: ServerSettings, schema: string | null): void {
  const lost =
    schema !== null && schema !== current
      ? ['?schema=', `alter role USER set search_path = ${schema}`]
      : dates.startsWith('ISO')
        ? null
        : ['the date format', 'alter role USER set datestyle = ISO']
  if (lost === null) return
  throw new UserError({
    what: 'cannot use this database as the warehouse',
    why: `a connection pooler (PgBouncer) in front of it does not keep the settings of a connection: ${lost[0]}`,
    next: `connect to Postgres directly, or set it on the server: ${lost[1]}`,
    exitCode: 2,
  })
}
