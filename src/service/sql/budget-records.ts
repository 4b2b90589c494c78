/** Request budgets in the warehouse, a row each, for processes that share no Redis. */
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { databaseNowMs } from '../../warehouse/dialect.ts'
import { bootId } from '../../warehouse/process-identity.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import {
  type BudgetRecord,
  type KeyUse,
  maxSwapDelayMs,
  type RecordReading,
} from '../core/budget-record.ts'

/** `db`: not a transaction, as a budget is never rolled back. */
export function createBudgetRecord(
  { db, kind }: Pick<ProjectDb, 'db' | 'kind'>,
  name: string,
): BudgetRecord {
  const now = databaseNowMs(kind)
  // A commit must survive a crash. Postgres waits for the disk. SQLite may lose commits on a power
  // failure; a version of an earlier boot shows that this may have happened.
  const bootPrefix = kind === 'sqlite' ? `${bootId()}:` : ''
  const waitForDisk =
    kind === 'sqlite' ? sql`` : sql`and set_config('synchronous_commit', 'on', true) is not null`

  async function read(): Promise<RecordReading> {
    const { rows } = await sql<Omit<RecordReading, 'restarted'>>`
      select version, state as text, ${now} as now
      from (select 1 as one) as here left join sync_budgets on name = ${name}`.execute(db)
    const [row] = rows
    if (row === undefined) throw new Error('the query returned no row')
    return { ...row, restarted: row.version !== null && !row.version.startsWith(bootPrefix) }
  }

  async function compareAndSet(seen: RecordReading, text: string) {
    const version = bootPrefix + randomUUID()
    const inTime = sql`${now} <= cast(${seen.now + maxSwapDelayMs}
      as double precision) ${waitForDisk}`
    const { rows } = await (seen.version === null
      ? sql<Pick<RecordReading, 'now'>>`
          insert into sync_budgets (name, version, state)
          select cast(${name} as text), cast(${version} as text), cast(${text} as text)
          where ${inTime}
          on conflict (name) do nothing returning ${now} as now`
      : sql<Pick<RecordReading, 'now'>>`
          update sync_budgets set version = ${version}, state = ${text}
          where name = ${name} and version = ${seen.version} and ${inTime} returning ${now} as now`
    ).execute(db)
    const [written] = rows
    if (written !== undefined)
      return { swapped: true, reading: { now: written.now, version, text, restarted: false } }
    const reading = await read()
    return { swapped: reading.version === version, reading }
  }

  return { read, compareAndSet }
}

/** By the clock of the database. It outlives a budget that is kept elsewhere. */
export function createKeyUse({ db, kind }: Pick<ProjectDb, 'db' | 'kind'>, name: string): KeyUse {
  const now = sql`cast(${databaseNowMs(kind)} as bigint)`
  return {
    isUnusedFor: async (withinMs) => {
      const { rows } = await sql`select 1 from sync_keys where name = ${name}
          and used_at > ${now} - ${withinMs}`.execute(db)
      return rows.length === 0
    },
    recordUse: async () => {
      await sql`insert into sync_keys (name, used_at) values (${name}, ${now})
        on conflict (name) do update set used_at = excluded.used_at`.execute(db)
    },
  }
}
