/** PGlite (Postgres within this process) as connections of the warehouse: one session, handed out to one at a time. */
import { readFileSync, writeFileSync } from 'node:fs'
import { PGlite } from '@electric-sql/pglite'
import { oids, readInteger, readTime } from '../../src/warehouse/database/postgres.ts'
import type { Sessions } from '../../src/warehouse/database/session.ts'
import { madeOnce } from './made-once.ts'

const asText = (text: string) => text
const parsers = {
  [oids.int8]: readInteger,
  [oids.numeric]: Number,
  [oids.jsonb]: asText,
  [oids.json]: asText,
  [oids.date]: asText,
  [oids.timestamptz]: readTime,
}

/** One a process. */
let shared: Promise<PGlite> | undefined

export function pglite(): Promise<PGlite> {
  shared ??= fromImage()
  return shared
}

/** Making a cluster takes seconds, starting on a copy of one does not. */
async function fromImage(): Promise<PGlite> {
  const image = await madeOnce('pglite.tar', async (file) => {
    const first = await PGlite.create()
    const data = await first.dumpDataDir('none')
    writeFileSync(file, new Uint8Array(await data.arrayBuffer()))
    await first.close()
  })
  return PGlite.create({ loadDataDir: new Blob([readFileSync(image)]) })
}

/** An empty database. Sessions of the one before are not to be used any more. */
export async function emptyPglite(): Promise<PGlite> {
  const database = await pglite()
  await database.exec("drop schema public cascade; create schema public; set timezone = 'UTC'")
  return database
}

/** When the one session is free again, whoever asks. */
let free: Promise<void> = Promise.resolve()

export function pgliteSessions(database: PGlite): Sessions {
  const sessions: Sessions = {
    kind: 'postgres',
    apart: () => sessions,
    take: async () => {
      const before = free
      const { promise, resolve } = Promise.withResolvers<void>()
      free = promise
      await before
      return {
        run: async (text, parameters) => {
          const result = await database.query(text, parameters.map(toText), { parsers, serializers })
          return { rows: result.rows, affected: result.affectedRows ?? result.rows.length }
        },
        release: () => resolve(),
      }
    },
    close: async () => {},
  }
  return sessions
}

/** As text, whatever the type: so values reach the server as they do over the wire of a real one. */
const serializers = Object.fromEntries(
  [16, 20, 21, 23, 25, 114, 700, 701, 1043, 1082, 1184, 1700, 3802].map((oid) => [oid, asText]),
)

function toText(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value)
}
