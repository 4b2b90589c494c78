/** What the derivations of facts have in common, and how rows for analysts are stored. */

import { CompiledQuery, sql } from 'kysely'
import { analyticsTables } from '../../../schema/analytics-tables.ts'
import { plainType, type TableSpec } from '../../../schema/column-types.ts'
import type { DatabaseSchema } from '../../../schema/tables.ts'
import type { AnalyticsSettings } from '../../config/analytics-settings.ts'
import { type EpochSeconds, rfc3339 } from '../../values/time.ts'
import {
  arrayInsert,
  batchesOf,
  inList,
  rowsPerArrayInsert,
  rowsPerStatement,
} from '../../warehouse/dialect.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import type { Calendar } from '../core/calendar.ts'
import type { AnalyticsTableName } from '../views/view-spec.ts'

export type FactSource = ProjectDb & {
  readonly settings: AnalyticsSettings
  /** Whether words of messages are indexed. */
  readonly hasSearch: boolean
  readonly calendar: Calendar
  /** Since when changes of the project's conversations are watched. */
  readonly mirroredSince: EpochSeconds
}

/** How the facts of one kind are derived, within a transaction under the project's write lock. */
export type FactDerivation = {
  /** Of the first of these ids; returns of how many. If rows are many, the next time continues. */
  readonly replaceFacts: (source: FactSource, ids: readonly string[]) => Promise<number>
  /** Ids that rows or facts have, after this one ('' = from the beginning), in their order. */
  readonly listIds: (context: ProjectDb, after: string, limit: number) => Promise<string[]>
  /** How many ids a rebuild handles in one transaction. */
  readonly idsPerRebuildStep: number
  /** Deletes the facts that no id leads to, before the first step of a rebuild. */
  readonly clear?: (context: ProjectDb) => Promise<void>
}

/** Lists ids of stored rows, and of facts whose rows may be gone. */
export function idsOf(
  ...columns: readonly (readonly [table: string, column: string])[]
): FactDerivation['listIds'] {
  return async ({ db, project }, after, limit) => {
    const listed = columns.map(([table, column]) => {
      const id = sql.ref(column)
      return sql`select id from (select distinct ${id} as id from ${sql.table(table)}
        where project_id = ${project} and ${id} > ${after} order by ${id} limit ${limit}) as listed`
    })
    const { rows } = await sql<{ id: string }>`${sql.join(listed, sql` union `)}
      order by id limit ${limit}`.execute(db)
    return rows.map(({ id }) => id)
  }
}

/** A row as its table declares it, without `project_id`; times are seconds since 1970. */
type AnalyticsRow<T extends AnalyticsTableName> = Omit<
  {
    readonly [C in keyof DatabaseSchema[T]]: typeof analyticsTables extends {
      readonly [name in T]: { columns: { [name in C]: readonly [`utc_time${'' | '?'}`, string] } }
    }
      ? EpochSeconds | Extract<DatabaseSchema[T][C], null>
      : DatabaseSchema[T][C]
  },
  'project_id'
>

export async function insertRows<T extends AnalyticsTableName>(
  { db, kind, project }: ProjectDb,
  table: T,
  rows: readonly AnalyticsRow<T>[],
): Promise<void> {
  const spec: TableSpec = analyticsTables[table]
  const columns = Object.entries(spec.columns).map(([name, [type]]) => ({
    name,
    type: plainType[type],
  }))
  // Texts come from the mirror, so they are encoded already.
  const types = new Map(columns.map(({ name, type }) => [name, type]))
  const encode = (
    row: Readonly<Record<string, string | number | boolean | null>>,
    name: string,
  ) => {
    const value = row[name] ?? null
    if (types.get(name) === 'utc_time' && typeof value === 'number') return rfc3339(value)
    return typeof value === 'boolean' && kind === 'sqlite' ? Number(value) : value
  }
  if (kind === 'postgres') {
    for (const batch of batchesOf(rows, rowsPerArrayInsert)) {
      const valuesOf = (column: string) => batch.map((row) => encode(row, column))
      await arrayInsert(table, columns, project, valuesOf).execute(db)
    }
    return
  }
  // Written out: kysely would take longer for it than SQLite to insert the rows.
  const insert = `insert into ${table} (${columns.map(({ name }) => name).join(', ')}) values `
  const values = `(${columns.map(() => '?').join(', ')})`
  for (const batch of batchesOf(rows, rowsPerStatement[0])) {
    const parameters = batch.flatMap((row) => [
      project,
      ...columns.slice(1).map(({ name }) => encode(row, name)),
    ])
    await db.executeQuery(
      CompiledQuery.raw(insert + batch.map(() => values).join(', '), parameters),
    )
  }
}

/** Deletes the project's rows whose `column` has one of these values. */
export async function deleteRows(
  trx: ProjectDb,
  table: AnalyticsTableName,
  column: string,
  values: readonly string[],
) {
  const { db, kind, project } = trx
  const hasValue = sql`${sql.ref(column)} ${inList(kind, values)}`
  await sql`delete from ${sql.table(table)} where project_id = ${project} and ${hasValue}`.execute(
    db,
  )
}

/** Replaces all of the project's rows. */
export async function replaceRows<T extends AnalyticsTableName>(
  trx: ProjectDb,
  table: T,
  rows: readonly AnalyticsRow<T>[],
): Promise<void> {
  await sql`delete from ${sql.table(table)} where project_id = ${trx.project}`.execute(trx.db)
  await insertRows(trx, table, rows)
}
