/** Inserts and deletes rows of the tables for analysts, with statements that are compiled once for each size. */
import { CompiledQuery, sql } from 'kysely'
import { analyticsTables } from '../../../schema/analytics-tables.ts'
import type { ColumnType, DatabaseKind } from '../../../schema/column-types.ts'
import type { TableSpec } from '../../../schema/table-spec.ts'
import { withoutNullability } from '../../mirror/sql/stream-tables.ts'
import { daySeconds, type EpochSeconds, hourSeconds, minuteSeconds, rfc3339 } from '../../values/time.ts'
import {
  arrayParameter,
  compileArrayInsert,
  type InsertColumns,
  rowsPerArrayInsert,
} from '../../warehouse/array-parameter.ts'
import { sendStatement } from '../../warehouse/connection-pool.ts'
import { batchesOf, inList, rowsPerStatement } from '../../warehouse/dialect.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'

type AnalyticsTable = keyof typeof analyticsTables

type ColumnsOf<T extends AnalyticsTable> = (typeof analyticsTables)[T]['columns']
type Value = string | number | boolean | null
type ValueOf<Declared> = Declared extends `${infer Type}?`
  ? ValueOf<Type> | null
  : Declared extends 'boolean'
    ? boolean
    : Declared extends 'integer' | 'int32' | 'utc_time'
      ? number
      : string

/** A row as its table declares it, without `project_id`; times are seconds since 1970. */
type AnalyticsRow<T extends AnalyticsTable> = {
  readonly [C in Exclude<keyof ColumnsOf<T>, 'project_id'>]: ColumnsOf<T>[C] extends readonly [infer Declared, string]
    ? ValueOf<Declared>
    : never
}
type AnyRow = Readonly<Record<string, Value>>

/** Texts of statements by number of rows. */
type InsertPlan = { readonly columns: InsertColumns; readonly texts: Map<number, string> }

const plans: Readonly<Record<DatabaseKind, Map<AnalyticsTable, InsertPlan>>> = {
  sqlite: new Map(),
  postgres: new Map(),
}

export async function insertRows<T extends AnalyticsTable>(
  trx: ProjectDb,
  table: T,
  rows: readonly AnalyticsRow<T>[],
): Promise<void> {
  const plan = planFor(trx.kind, table)
  if (trx.kind === 'postgres') return insertArrays(trx, table, plan, rows)
  let from = 0
  for (const size of rowsPerStatement) {
    for (; rows.length - from >= size; from += size) {
      const text = plan.texts.get(size) ?? compileInsert(trx, table, plan, size)
      await trx.db.executeQuery(CompiledQuery.raw(text, parametersOf(trx, plan, rows.slice(from, from + size))))
    }
  }
}

function planFor(kind: DatabaseKind, table: AnalyticsTable): InsertPlan {
  const known = plans[kind].get(table)
  if (known !== undefined) return known
  const spec: TableSpec = analyticsTables[table]
  const columns = Object.entries(spec.columns).map(([name, [type]]) => ({ name, type: withoutNullability(type) }))
  const plan = { columns, texts: new Map() }
  plans[kind].set(table, plan)
  return plan
}

async function insertArrays(
  { db, project }: ProjectDb,
  table: AnalyticsTable,
  { columns, texts }: InsertPlan,
  rows: readonly AnyRow[],
): Promise<void> {
  const text = texts.get(0) ?? compileArrayInsert(db, table, columns)
  texts.set(0, text)
  for (const batch of batchesOf(rows, rowsPerArrayInsert)) {
    const arrays = columns.slice(1).map(({ name, type }) =>
      arrayParameter(
        type,
        batch.map((row) => encode('postgres', type, row[name] ?? null)),
      ),
    )
    await sendStatement(db, CompiledQuery.raw(text, [project, ...arrays]))
  }
}

function compileInsert({ db, typed }: ProjectDb, table: AnalyticsTable, plan: InsertPlan, size: number): string {
  const row = sql`(${sql.join(plan.columns.map(({ type }) => typed(type, null)))})`
  const names = sql.join(plan.columns.map(({ name }) => sql.ref(name)))
  const text = sql`insert into ${sql.table(table)} (${names})
    values ${sql.join(Array.from({ length: size }, () => row))}`.compile(db).sql
  plan.texts.set(size, text)
  return text
}

function parametersOf({ kind, project }: ProjectDb, { columns }: InsertPlan, rows: readonly AnyRow[]): unknown[] {
  const parameters: unknown[] = []
  for (const row of rows) {
    for (const { name, type } of columns)
      parameters.push(name === 'project_id' ? project : encode(kind, type, row[name] ?? null))
  }
  return parameters
}

/** Texts come from the mirror, so they are encoded already. */
function encode(kind: DatabaseKind, type: ColumnType, value: Value) {
  if (type === 'utc_time' && typeof value === 'number') return timeText(value)
  return typeof value === 'boolean' && kind === 'sqlite' ? Number(value) : value
}

/** Deletes the project's rows whose `column` has one of these values. */
export async function deleteRows(
  { db, kind, project }: ProjectDb,
  table: AnalyticsTable,
  column: string,
  values: readonly string[],
): Promise<void> {
  await sendStatement(
    db,
    sql`delete from ${sql.table(table)} where project_id = ${project} and ${sql.ref(column)} ${inList(kind, values)}`,
  )
}

/** Replaces all of the project's rows. */
export async function replaceRows<T extends AnalyticsTable>(
  trx: ProjectDb,
  table: T,
  rows: readonly AnalyticsRow<T>[],
): Promise<void> {
  await sql`delete from ${sql.table(table)} where project_id = ${trx.project}`.execute(trx.db)
  await insertRows(trx, table, rows)
}

/** The form of `rfc3339`, several times as fast: a rebuild writes millions of times, most of them of the same days. */
const twoDigits = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'))

/** `2026-03-29T` by days since 1970. */
const dates = new Map<number, string>()
/** A hundred years. Beyond it come only times of wrong clocks. */
const maxDates = 36_600

export function timeText(at: EpochSeconds): string {
  const day = Math.floor(at / daySeconds)
  const second = at - day * daySeconds
  const hour = Math.floor(second / hourSeconds)
  const minute = Math.floor((second % hourSeconds) / minuteSeconds)
  return `${dates.get(day) ?? dateOf(day)}${twoDigits[hour]}:${twoDigits[minute]}:${twoDigits[second % minuteSeconds]}Z`
}

function dateOf(day: number): string {
  const date = rfc3339(day * daySeconds).slice(0, 11)
  if (dates.size < maxDates) dates.set(day, date)
  return date
}
