/** SQL expressions of times and dates. */
import { type RawBuilder, sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import type { EpochSeconds } from '../../core/time.ts'

/** The column's time in seconds since 1970, null for null: converted by the database, far cheaper than parsing texts. */
export function epochSeconds(kind: DatabaseKind, column: string): RawBuilder<EpochSeconds | null> {
  return kind === 'sqlite'
    ? sql`unixepoch(${sql.ref(column)})`
    : sql`cast(floor(extract(epoch from ${sql.ref(column)})) as bigint)`
}

/** The first second of the column's hour in UTC, as RFC 3339 text. */
export function startOfHourText(kind: DatabaseKind, column: string): RawBuilder<string> {
  return kind === 'sqlite'
    ? sql`substr(${sql.ref(column)}, 1, 13) || ':00:00Z'`
    : sql`to_char(${sql.ref(column)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24') || ':00:00Z'`
}
