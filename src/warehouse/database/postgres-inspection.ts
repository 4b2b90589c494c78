/** Asked once of a Postgres that is opened: what stands between, and whether it can hold what there is to hold. */
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
 * Whether a pooler stands between, which may give each transaction another connection of the server. A server names itself
 * to a client by the number of its process; a pooler, which has many of them, by a number of its own.
 */
export async function inspectServer(pool: pg.Pool, schema: string | null, isWriter: boolean): Promise<boolean> {
  const client = await pool.connect()
  try {
    const { rows } = await client.query<ServerSettings>(
      `select pg_backend_pid() as pid, current_setting('server_encoding') as encoding,
        current_setting('DateStyle') as dates, current_schema() as schema`,
    )
    const [settings] = rows
    if (settings === undefined) throw new Error('a select of one row gave none')
    if (isWriter && settings.encoding !== 'UTF8') throw encodingError(settings.encoding)
    const hasPooler = 'processID' in client && client.processID !== settings.pid
    if (hasPooler) rejectLostSettings(settings, schema)
    return hasPooler
  } finally {
    client.release()
  }
}

/** SQL_ASCII takes any bytes and knows no character: neither lengths nor JSON are right there. */
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
        : ['the form of dates', 'alter role USER set datestyle = ISO']
  if (lost === null) return
  throw new UserError({
    what: 'cannot use this database as the warehouse',
    why: `a connection pooler (PgBouncer) stands before it and does not keep the settings of a connection: ${lost[0]}`,
    next: `connect to Postgres itself in DESKMIRROR_DATABASE_URL, or keep the setting there: ${lost[1]}`,
    exitCode: 2,
  })
}
