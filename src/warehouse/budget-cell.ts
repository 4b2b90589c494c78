/** Request budgets kept in the warehouse: a row each, for processes that share nothing else. */
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { type BudgetCell, type Reading, swapWithinMs } from '../core/budget/cell.ts'
import type { KeyUse } from '../core/budget/key-use.ts'
import { databaseClock } from './database/dialect.ts'
import { bootId } from './database/process.ts'
import { type Db, openKysely, type Sessions } from './database/session.ts'
import { keyUse } from './key-use.ts'

export type Budgets = {
  readonly cell: (name: string) => BudgetCell
  readonly use: (name: string) => KeyUse
  readonly close: () => Promise<void>
}

/** Connections of their own, from the first use on: what a budget commits must not be undone with somebody's page. */
export function createBudgets(sessions: Sessions): Budgets {
  let apart: Db | undefined
  const database = () => {
    apart ??= openKysely(sessions.apart())
    return apart
  }
  return {
    cell: (name) => budgetCell(database, sessions.kind, name),
    use: (name) => keyUse(database, sessions.kind, name),
    close: async () => {
      await apart?.destroy()
    },
  }
}

type Found = { readonly version: string | null; readonly state: string | null; readonly now: number }

function budgetCell(database: () => Db, kind: Sessions['kind'], name: string): BudgetCell {
  const now = databaseClock(kind)
  // Postgres does not forget what it has committed; where it is set up to, not for this write. SQLite without a sync at each
  // commit does, when the machine loses its power: then it is booted.
  const life = kind === 'sqlite' ? `${bootId()}:` : ''
  const durably = kind === 'sqlite' ? sql`` : sql`and set_config('synchronous_commit', 'on', true) is not null`

  async function read(): Promise<Reading> {
    const { rows } = await sql<Found>`
      select version, state, ${now} as now
      from (select 1 as one) as here left join sync_budgets on name = ${name}`.execute(database())
    const { version, state, now: at } = only(rows)
    return { now: at, version, text: state, restarted: version !== null && !version.startsWith(life) }
  }

  async function swap(seen: Reading, text: string) {
    const version = life + randomUUID()
    const inTime = sql`${now} <= cast(${seen.now + swapWithinMs} as double precision) ${durably}`
    const { rows } = await (seen.version === null
      ? sql<Pick<Found, 'now'>>`
          insert into sync_budgets (name, version, state)
          select cast(${name} as text), cast(${version} as text), cast(${text} as text) where ${inTime}
          on conflict (name) do nothing returning ${now} as now`
      : sql<Pick<Found, 'now'>>`
          update sync_budgets set version = ${version}, state = ${text}
          where name = ${name} and version = ${seen.version} and ${inTime} returning ${now} as now`
    ).execute(database())
    const [done] = rows
    if (done !== undefined) return { swapped: true, reading: { now: done.now, version, text, restarted: false } }
    const reading = await read()
    return { swapped: reading.version === version, reading }
  }

  return { read, swap }
}

function only<T>(rows: readonly T[]): T {
  const [row] = rows
  if (row === undefined) throw new Error('a select of one row gave none')
  return row
}
