/** What the columns for analysts say about how their values combine, in random worlds. */

import { expect, test } from 'vitest'
import { analystObjects } from '../../../src/analytics/views/all-views.ts'
import { openMirror } from '../../../src/app/facts.ts'
import type { Warehouse } from '../../../src/app/open.ts'
import { mergedSteps } from '../../support/analytics-model/merged-world.ts'
import type { ProjectRows } from '../../support/analytics-model/raw-rows.ts'
import { storeProjects } from '../../support/analytics-model/store-rows.ts'
import { databases } from '../../support/databases.ts'
import { call, commit } from '../../warehouse/row-fixtures.ts'
import { openTestWarehouse } from '../../warehouse/test-warehouse.ts'
import { factsOf } from './golden-worlds.ts'

const seeds = Array.from({ length: 30 }, (_, n) => n + 1)
const reports = analystObjects.filter(
  ({ type, key, columns }) =>
    type === 'view' && key.some((name) => columns[name]?.type === 'local_date'),
)

/**
 * The same rows for the views, but all at one hour of one day and of one agent: what they count
 * then is the whole.
 */
const oneHour = [
  ...['fct_conversation', 'fct_wait', 'fct_state', 'fct_visit'].flatMap((table) =>
    atOneHour(table),
  ),
  `create table merged as select project_id, conversation_id, '2025-06-10' as date, role,
    case role when 'human' then 'Ann' else name end as name, sum(messages) as messages, min(first_at) as first_at
    from fct_contribution group by 1, 2, 3, 4, 5`,
  'delete from fct_contribution',
  'insert into fct_contribution (project_id, conversation_id, date, role, name, messages, first_at) select * from merged',
  'drop table merged',
  `create table merged as select project_id, '2025-06-10' as date, 0 as hour, sum(snapshots) as snapshots,
    sum(observed_seconds) as observed_seconds, sum(available_seconds) as available_seconds,
    sum(agent_seconds) as agent_seconds from fct_availability_hour group by 1, 2, 3`,
  'delete from fct_availability_hour',
  `insert into fct_availability_hour (project_id, date, hour, snapshots, observed_seconds, available_seconds,
    agent_seconds) select * from merged`,
  "update fct_wait set human_name = 'Ann' where human_name is not null",
  "update calls set occurred_at = '2025-06-10T12:00:00Z'",
  "update message_rows set created_at = '2025-06-10T12:00:00Z' where created_at is not null",
]

function atOneHour(table: string): string[] {
  const { columns } = analystObjects.find(({ name }) => name === table)!
  return Object.keys(columns).flatMap((column) => {
    if (/_date$/.test(column))
      return [`update ${table} set ${column} = '2025-06-10' where ${column} is not null`]
    return /_hour$/.test(column)
      ? [`update ${table} set ${column} = 0 where ${column} is not null`]
      : []
  })
}

test('sums and weighted means of the days are those of the whole, and numbers of different things are not', async () => {
  const { warehouse, all } = await openTestWarehouse(databases[0]!)
  const [rows] = mergedSteps(0, seeds, 0)[0]!.projects
  await storeWorld(warehouse, rows!)
  // Else each day would be judged by the target of that day.
  await all("delete from dim_sla where from_date > '2024-01-01'")
  await all('update dim_sla set to_date = null')
  const ofDays = await readReports(warehouse)
  for (const statement of oneHour) await all(statement)
  const ofTheWhole = await readReports(warehouse)
  const repeated = new Set<string>()
  for (const { name, columns } of reports) {
    for (const [column, { role, aggregation }] of Object.entries(columns)) {
      if (role !== 'measure' || aggregation === 'none') continue
      const [parts, whole] = [ofDays, ofTheWhole].map((read) =>
        combine(read.get(name) ?? [], column, aggregation),
      )
      if (aggregation === 'distinct' && parts! > whole!) repeated.add(`${name}.${column}`)
      else expect(parts, `${name}.${column}`).toBeCloseTo(whole!, 6)
    }
  }
  const distinct = reports.flatMap(({ name, columns }) =>
    Object.keys(columns).flatMap((column) =>
      columns[column]?.aggregation === 'distinct' ? [`${name}.${column}`] : [],
    ),
  )
  expect([...repeated].sort()).toEqual(distinct.sort())
})

async function storeWorld(warehouse: Warehouse, rows: ProjectRows): Promise<void> {
  await storeProjects(warehouse, [rows])
  const calls = rows.activity.slice(0, 60).map(({ visitor_id, occurred_at }, n) => {
    const extra = { visitorId: visitor_id, durationSeconds: 60 * n, agentName: `agent ${n % 3}` }
    return call(`call ${n}`, { occurred_at: occurred_at ?? '2025-06-10T12:00:00Z' }, extra)
  })
  await openMirror(warehouse, rows.project).commit(commit('calls', calls))
  await factsOf(warehouse, rows).refresh()
}

type Rows = readonly Readonly<Record<string, unknown>>[]

/** One of several ways in which a report counts the same things. */
async function readReports(warehouse: Warehouse): Promise<ReadonlyMap<string, Rows>> {
  const read = new Map<string, Rows>()
  for (const { name, alternatives } of reports) {
    const [first] = await warehouse.query(`select * from ${name}${orderBy(alternatives)} limit 1`)
    const conditions = alternatives.map((column) => `${column} = '${first?.[column]}'`)
    const filter = conditions.length === 0 ? '' : ` where ${conditions.join(' and ')}`
    const rows = await warehouse.query(`select * from ${name}${filter}`)
    expect(rows.length, name).toBeGreaterThan(0)
    read.set(name, rows)
  }
  return read
}

const orderBy = (columns: readonly string[]) =>
  columns.length === 0 ? '' : ` order by ${columns.join(', ')}`

function combine(
  rows: Rows,
  column: string,
  aggregation: 'sum' | 'distinct' | { readonly weightedBy: readonly string[] },
) {
  const known = rows.filter((row) => row[column] !== null)
  const weights = known.map((row) =>
    typeof aggregation === 'object'
      ? sum(aggregation.weightedBy.map((name) => Number(row[name])))
      : 1,
  )
  const total = sum(known.map((row, n) => Number(row[column]) * (weights[n] ?? 0)))
  return typeof aggregation === 'object' ? total / sum(weights) : total
}

const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0)
