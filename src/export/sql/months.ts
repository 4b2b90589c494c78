/**
 * The rows of an object by month, and what they tell of their change: a row that is written, marked
 * as deleted or erased changes a sum or a count.
 */
import { type RawBuilder, sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import { clockToleranceSeconds, type EpochSeconds } from '../../values/time.ts'
import { epochSeconds } from '../../warehouse/dialect.ts'
import type { ExportColumn, ExportObject } from '../core/selection.ts'
import type { MonthState } from '../lake/partitions.ts'

type CountedMonth = {
  readonly month: string | null
  readonly rows: number
  readonly written_at: EpochSeconds | null
  readonly state: string | null
}

/** `where`: which rows; `declared`: the database's type of the time column. */
export function monthsQuery(
  kind: DatabaseKind,
  object: ExportObject,
  time: (ExportColumn & { readonly declared: string }) | null,
  from: RawBuilder<unknown>,
): RawBuilder<CountedMonth> {
  const isMirrored = object.columns.some(({ name }) => name === 'synced_at')
  const month = time === null ? sql`null` : monthOf(kind, time)
  return sql<CountedMonth>`
    select ${month} as month, count(*) as rows,
      ${isMirrored ? sql`max(${epochSeconds(kind, 'synced_at')})` : sql`null`} as written_at,
      ${isMirrored ? stateOf(kind, object) : sql`null`} as state
    ${from} group by 1 order by 1`
}

/** In UTC, as `2026-11`. */
function monthOf(kind: DatabaseKind, { name, declared }: { name: string; declared: string }) {
  if (kind === 'sqlite') return sql`substr(${sql.ref(name)}, 1, 7)`
  const hasZone = declared === 'timestamp with time zone'
  const local = hasZone ? sql`${sql.ref(name)} at time zone 'UTC'` : sql.ref(name)
  return sql`to_char(${local}, 'YYYY-MM')`
}

/**
 * `synced_at` moves when a row is written. What is set apart from that shows in its sum, or in how
 * many rows have a value: when a row was last read, marks of deletion, columns that are filled in
 * later, flags.
 */
function stateOf(kind: DatabaseKind, { columns, key }: ExportObject): RawBuilder<unknown> {
  const parts = columns.flatMap(({ name, type }) => {
    if (key.includes(name) || type === 'json' || name === 'content') return []
    const ref = sql.ref(name)
    if (['synced_at', 'deleted_at', 'read_at'].includes(name))
      return [sql`sum(${epochSeconds(kind, name)})`]
    if (type !== 'boolean') return [sql`count(${ref})`]
    return [sql`count(${ref})`, sql`sum(case when ${ref} then 1 else 0 end)`]
  })
  const texts = parts.map((part) => sql`coalesce(cast(${part} as text), '')`)
  return sql.join(texts, sql` || ',' || `)
}

/**
 * A row that was written a moment ago may be written again within that second, which no sum shows:
 * the rows of such a month are read once more by the next run.
 */
export function toMonthStates(months: readonly CountedMonth[], now: EpochSeconds): MonthState[] {
  return months.map(({ month, rows, written_at: writtenAt, state }) => {
    const isSettled = writtenAt !== null && writtenAt < now - clockToleranceSeconds
    return { month, rows: Number(rows), state: isSettled ? state : null }
  })
}
