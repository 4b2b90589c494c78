/** When each key was last used, by the clock of the database: a row each, which outlives a budget that is kept elsewhere. */
import { sql } from 'kysely'
import type { DatabaseKind } from '../../schema/column-types.ts'
import type { KeyUse } from '../core/rate-limit/key-use.ts'
import { databaseNowMs } from './database/dialect.ts'
import type { Db } from './database/connection-pool.ts'

export function createKeyUse(openDb: () => Db, kind: DatabaseKind, name: string): KeyUse {
  const now = sql`cast(${databaseNowMs(kind)} as bigint)`
  return {
    isUnusedFor: async (withinMs) => {
      const { rows } =
        await sql`select 1 from sync_keys where name = ${name} and used_at > ${now} - ${withinMs}`.execute(openDb())
      return rows.length === 0
    },
    recordUse: async () => {
      await sql`insert into sync_keys (name, used_at) values (${name}, ${now})
        on conflict (name) do update set used_at = excluded.used_at`.execute(openDb())
    },
  }
}
