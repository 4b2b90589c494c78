/** Reads the tables of the pages about a period, and the conversations behind a number. */
import { sql } from 'kysely'
import type { ProjectId } from '../../values/project.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import { inSnapshot } from '../../warehouse/transactions.ts'
import type { DateRange } from '../core/report-period.ts'
import { type PeriodTableName, periodTables } from '../views/all-period-pages.ts'
import { type PeriodTable, quote, type Within } from '../views/period-table.ts'
import { sqlDialects } from '../views/sql-dialect.ts'

export type PeriodFilter = DateRange & { readonly agent: string | null }
export type PeriodValue = string | number | null
export type PeriodRow = Readonly<Record<string, PeriodValue>>

/** `days`: of the charts, those without anything left out. All numbers are of one moment. */
export type TableNumbers = {
  readonly rows: readonly PeriodRow[]
  readonly total: PeriodRow | null
  readonly days: readonly PeriodRow[]
}

/** Reads all facts: indexes by date make a month twice as fast, and a year five times slower. */
export function readPeriodTable(
  context: ProjectDb,
  name: PeriodTableName,
  filter: PeriodFilter,
): Promise<TableNumbers> {
  const { db, kind } = context
  const table: PeriodTable = periodTables[name]
  const within = quoted(context.project, filter)
  const dialect = sqlDialects[kind]
  const { split, counted } = table
  const groups = ['date', ...(split === undefined ? [] : [split])].join(', ')
  const counts = Object.entries(counted).map(
    ([column, condition]) => `count(case when ${condition ?? '1 = 1'} then 1 end) as ${column}`,
  )
  const countedDays = `select ${[groups, ...counts].join(', ')} from (${table.facts(within)}) facts
    group by ${groups}`
  return inSnapshot(db, kind, async (read) => {
    const all = (query: string) => read(sql<PeriodRow>`${sql.raw(query)}`)
    const [total = null] = table.total === undefined ? [] : await all(table.total(within, dialect))
    const rows = await all(table.rows(within, dialect))
    // Each row of the charts is a day already.
    if (table.days === table.rows) return { rows, total, days: rows }
    const days = table.days?.(within, dialect) ?? countedDays
    return { rows, total, days: table.heatMaps === undefined ? await all(days) : [] }
  })
}

/** More than a list has room for. */
const maxAgents = 1000

/** Names of agents who wrote in the period, or whom its calls name, those with the most first. */
export async function readAgentNames(
  { db, project, typed }: ProjectDb,
  { from, to }: DateRange,
  table: PeriodTableName,
) {
  const ofCalls = sql`select project_id, agent as name, started_date as date, 1 as messages
    from fct_call`
  const written = sql`select project_id, name, date, messages from fct_contribution
    where role = 'human'`
  const { rows } = await sql<{ name: string }>`
    select name from (${table === 'calls' ? ofCalls : written}) named where project_id = ${project}
    and name <> ''
      and date between ${typed('date', from)} and ${typed('date', to)}
    group by name order by sum(messages) desc, name limit ${sql.lit(maxAgents)}`.execute(db)
  return rows.map(({ name }) => name)
}

/** Conversations are chosen by the facts of a table, those of one number, and values of its key. */
export type FactFilter = PeriodFilter & {
  readonly table: PeriodTableName
  /** Null: all facts. */
  readonly column: string | null
  readonly key: Readonly<Record<string, string>>
}

/** A condition on conversations `c` in `fct_conversation`. */
export function conversationsOf(
  project: ProjectId,
  { table: name, column, key, ...filter }: FactFilter,
): string {
  const { id, facts, counted }: PeriodTable = periodTables[name]
  const condition = column === null ? null : (counted[column] ?? null)
  const ofKey = Object.entries(key).map(([of, value]) => `cast(${of} as text) = ${quote(value)}`)
  const conditions = [...ofKey, ...(condition === null ? [] : [condition])]
  const chosen = conditions.length === 0 ? '' : ` where ${conditions.join(' and ')}`
  return `c.${id} in (select ${id} from (${facts(quoted(project, filter))}) facts${chosen})`
}

export const quoted = (project: ProjectId, { from, to, agent }: PeriodFilter): Within => ({
  project: quote(project),
  from: quote(from),
  to: quote(to),
  agent: agent === null ? null : quote(agent),
})

/** Columns under their names in camel case: `open_at_end` is `openAtEnd`. */
export function columns(...names: readonly string[]) {
  const inSnakeCase = (name: string) =>
    name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  return sql.join(names.map((name) => sql`${sql.ref(inSnakeCase(name))} as ${sql.id(name)}`))
}
