/** The SQL of the starter dashboards, as their files have it, on each database. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { DatabaseKind } from '../../schema/column-types.ts'
import { type ChartColumn, charts, type StarterChart } from '../../src/analytics/starters/charts.ts'
import type { Warehouse } from '../../src/app/open.ts'
import { factsOf, settings } from '../analytics/sql/facts-settings.ts'
import { openViewsWarehouse } from '../analytics/sql/view-fixtures.ts'
import { withSandbox } from '../mirror/sync/with-sandbox.ts'
import { databases } from '../support/databases.ts'

const root = new URL('../..', import.meta.url).pathname
const readJson = (path: string) => JSON.parse(readFileSync(`${root}deploy/${path}`, 'utf8'))
const list = Object.values<StarterChart>(charts)

type Filters = { readonly project: string; readonly from: string; readonly to: string }
type Rows = readonly Readonly<Record<string, unknown>>[]

/**
 * The queries of a starter in the order of the charts, with the variables replaced as the tool does
 * it.
 */
const starters: Readonly<
  Record<string, (kind: DatabaseKind, filters: Filters | null) => readonly string[]>
> = {
  grafana: (kind, filters) => {
    const { project, from, to } = filters ?? {
      project: 'main',
      from: '2000-01-01',
      to: '2100-01-01',
    }
    return readJson(`grafana/${kind}/dashboards/support.json`).panels.map(
      ({ targets: [target] }: GrafanaPanel) =>
        (kind === 'postgres' ? target.rawSql : target.queryText)
          .replaceAll(/\$\{project:sqlstring\}/g, `'${project}'`)
          .replaceAll(/\$\{__from:date:YYYY-MM-DD\}/g, from)
          .replaceAll(/\$\{__to:date:YYYY-MM-DD\}/g, to),
    )
  },
  metabase: (kind, filters) =>
    readJson('metabase/dashboard.json').cards.map(({ queries }: MetabaseCard) =>
      filters === null
        ? queries[kind].replaceAll(/\[\[.*?\]\]/g, '').replaceAll('{{project}}', "'main'")
        : queries[kind]
            .replaceAll(/\[\[(.*?)\]\]/g, '$1')
            .replaceAll('{{project}}', `'${filters.project}'`)
            .replaceAll('{{from}}', dateLiteral(kind, filters.from))
            .replaceAll('{{to}}', dateLiteral(kind, filters.to)),
    ),
}

type GrafanaPanel = {
  readonly targets: readonly [{ readonly rawSql: string; readonly queryText: string }]
}
type MetabaseCard = { readonly queries: Readonly<Record<DatabaseKind, string>> }

/** What Metabase passes: a date to Postgres, a text to SQLite. */
function dateLiteral(kind: DatabaseKind, date: string): string {
  return kind === 'postgres' ? `date '${date}'` : `'${date}'`
}

/** Of what type each kind of column is, in both databases. */
const checks: Readonly<Record<ChartColumn['kind'], (value: unknown) => boolean>> = {
  day: (value) => /^\d{4}-\d{2}-\d{2}$/.test(String(comparable(value))),
  category: (value) => typeof value === 'string',
  series: (value) => typeof value === 'string',
  text: (value) => typeof value === 'string',
  count: Number.isInteger,
  mean: (value) => typeof value === 'number',
  seconds: (value) => typeof value === 'number' && value >= 0,
  share: (value) => typeof value === 'number' && value >= 0 && value <= 1,
}

/** Every chart with its rows. */
async function runStarter(
  warehouse: Warehouse,
  tool: string,
  filters: Filters | null,
): Promise<(readonly [StarterChart, Rows])[]> {
  const queries = starters[tool]?.(warehouse.kind, filters) ?? []
  expect(queries).toHaveLength(list.length)
  const results: (readonly [StarterChart, Rows])[] = []
  for (const [index, chart] of list.entries()) {
    const query = queries[index] ?? ''
    expect(query).not.toMatch(/\$\{|\{\{|\[\[/)
    results.push([chart, await warehouse.query(query)])
  }
  return results
}

function expectColumns(
  tool: string,
  { title, visualisation, columns }: StarterChart,
  rows: Rows,
): void {
  const isTime = (name: string) =>
    tool === 'grafana' && visualisation === 'line' && columns[name]?.kind === 'day'
  const names = Object.keys(columns).map((name) => (isTime(name) ? 'time' : name))
  for (const row of rows) {
    expect(Object.keys(row), title).toEqual(names)
    for (const [index, { kind, isNullable }] of Object.values(columns).entries()) {
      const value = row[names[index] ?? '']
      const fits = (value === null && isNullable === true) || checks[kind](value)
      expect(fits, `${title}: ${names[index]} is ${String(value)}`).toBe(true)
    }
  }
}

const wholeTime = { project: 'main', from: '2025-01-01', to: '2025-12-31' }

for (const tool of Object.keys(starters))
  for (const db of databases) {
    test(`each chart for ${tool} has the columns that it shows — ${db.name}`, async () => {
      const { warehouse } = await openViewsWarehouse(db)
      for (const [chart, rows] of await runStarter(warehouse, tool, wholeTime)) {
        expectColumns(tool, chart, rows)
        // This mirror has synced no stream to its end, but lacks some rows.
        expect(rows.length, chart.title).toBeGreaterThan(0)
      }
      // Another project, and days without rows: only what knows no days remains.
      for (const [chart, rows] of await runStarter(warehouse, tool, {
        ...wholeTime,
        project: 'another',
      }))
        expect(rows, chart.title).toEqual([])
      await runStarter(warehouse, tool, null)
    })
  }

test('both starters give the same numbers, on SQLite and on Postgres', async () => {
  const results: unknown[] = []
  for (const db of databases) {
    const { warehouse } = await openViewsWarehouse(db)
    for (const tool of Object.keys(starters)) {
      const charted = await runStarter(warehouse, tool, wholeTime)
      results.push(
        charted.map(([{ title }, rows]) => [
          title,
          rows.map((row) => Object.values(row).map(comparable)),
        ]),
      )
    }
  }
  for (const result of results) expect(result).toEqual(results[0])
})

/** Times as dates; ages differ with the moment of the query. */
function comparable(value: unknown): unknown {
  if (typeof value === 'number' && value > 1e7) return 'an age'
  return value instanceof Date
    ? value.toISOString().slice(0, 10)
    : String(value).replace(/T00:00:00(\.000)?Z$/, '')
}

const targets = [
  {
    name: 'human',
    clock: 'human',
    which: 'every',
    withinSeconds: 3600,
    inBusinessHours: false,
    from: null,
    to: null,
  },
] as const

test('each chart has rows in a mirror of the sandbox', async () => {
  const size = { conversations: 100, visitors: 60, calls: 40, days: 40 }
  await withSandbox({ size }, async ({ sandbox, warehouse, sync }) => {
    await sync({ project: { analytics: { ...settings, targets } } })
    await factsOf(warehouse, { ...settings, targets }).refresh()
    const filters = { project: sandbox.projectId, from: '2000-01-01', to: '2100-01-01' }
    for (const tool of Object.keys(starters)) {
      for (const [chart, rows] of await runStarter(warehouse, tool, filters)) {
        expectColumns(tool, chart, rows)
        expect(rows.length, `${tool}: ${chart.title}`).toBeGreaterThan(0)
      }
    }
  })
})
