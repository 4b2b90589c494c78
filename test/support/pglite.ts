/** PGlite (Postgres within this process) as a connection pool: one session, for one user at a time. */
import { readFileSync, writeFileSync } from 'node:fs'
import { PGlite } from '@electric-sql/pglite'
import type { ConnectionPool } from '../../src/warehouse/database/connection-pool.ts'
import { parsePostgresInteger, parsePostgresTime, typeOids } from '../../src/warehouse/database/postgres.ts'
import { makeOnce } from './make-once.ts'

const asText = (text: string) => text
const parsers = {
  [typeOids.int8]: parsePostgresInteger,
  [typeOids.numeric]: Number,
  [typeOids.jsonb]: asText,
  [typeOids.json]: asText,
  [typeOids.date]: asText,
  [typeOids.timestamptz]: parsePostgresTime,
}

/** One per process. */
let sharedInstance: Promise<PGlite> | undefined

export function sharedPglite(): Promise<PGlite> {
  sharedInstance ??= startFromImage()
  return sharedInstance
}

/** Creating a cluster takes seconds; starting on a copy does not. */
async function startFromImage(): Promise<PGlite> {
  const image = await makeOnce('pglite.tar', async (file) => {
    const first = await PGlite.create()
    const data = await first.dumpDataDir('none')
    writeFileSync(file, new Uint8Array(await data.arrayBuffer()))
    await first.close()
  })
  return PGlite.create({ loadDataDir: new Blob([readFileSync(image)]) })
}

/** Empties the database. Sessions that were opened before must not be used any more. */
export async function resetPglite(): Promise<PGlite> {
  const database = await sharedPglite()
  await database.exec("drop schema public cascade; create schema public; set timezone = 'UTC'")
  return database
}

/** Resolves when the last user of the session has released it. */
let sessionFree: Promise<void> = Promise.resolve()

export function openPglitePool(database: PGlite): ConnectionPool {
  const pool: ConnectionPool = {
    kind: 'postgres',
    openSeparate: () => pool,
    acquire: async () => {
      const previous = sessionFree
      const { promise, resolve } = Promise.withResolvers<void>()
      sessionFree = promise
      await previous
      return {
        run: async (text, parameters) => {
          const result = await database.query(text, parameters.map(toParameter), { parsers, serializers })
          return { rows: result.rows, affectedRows: result.affectedRows ?? result.rows.length }
        },
        release: () => resolve(),
      }
    },
    close: async () => {},
  }
  return pool
}

/** Every type as a text or as its bytes, as values reach a real server. The last ones are arrays. */
const serializers = Object.fromEntries(
  [16, 20, 21, 23, 25, 114, 700, 701, 1043, 1082, 1184, 1700, 3802, 1009, 3807].map((oid) => [oid, asText]),
)

function toParameter(value: unknown): string | Buffer | null {
  if (value === null || value === undefined) return null
  return Buffer.isBuffer(value) ? value : String(value)
}
