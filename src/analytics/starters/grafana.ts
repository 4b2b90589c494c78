/** The starter dashboard for Grafana, one for each database. */

import type { DatabaseKind } from '../../../schema/column-types.ts'
import { sqlDialects } from '../views/sql-dialect.ts'
import { type ChartColumn, type ChartFilters, charts, type StarterChart } from './charts.ts'

/** As text: `$__timeFilter` compares times, and dates are those of the project. */
const filters: ChartFilters = {
  project: (column) => `${column} = \${project:sqlstring}`,
  days: (column) => `${column} between '\${__from:date:YYYY-MM-DD}' and '\${__to:date:YYYY-MM-DD}'`,
}

/** The `uid` of the data source, in the provisioning files beside the dashboard. */
const dataSources = {
  postgres: { type: 'grafana-postgresql-datasource', uid: 'deskmirror-postgres' },
  sqlite: { type: 'frser-sqlite-datasource', uid: 'deskmirror-sqlite' },
} as const

const units: Readonly<Partial<Record<ChartColumn['kind'], string>>> = {
  seconds: 's',
  share: 'percentunit',
  mean: 'none',
}
const panelTypes = { table: 'table', line: 'timeseries', bar: 'barchart' } as const

export function grafanaDashboard(kind: DatabaseKind): unknown {
  const query = 'select project_id from dim_project order by project_id'
  // One project at a time: medians of several cannot be combined.
  const variable = {
    name: 'project',
    label: 'Project',
    type: 'query',
    datasource: dataSources[kind],
    query: kind === 'sqlite' ? { rawQueryText: query, queryText: query, timeColumns: [] } : query,
    multi: false,
    includeAll: false,
    refresh: 1,
    sort: 0,
  }
  return {
    uid: `deskmirror-${kind}`,
    title: 'Support (deskmirror)',
    description:
      'Made by `node build/starters.ts`: save a copy under another name before you change it.',
    tags: ['deskmirror'],
    schemaVersion: 39,
    editable: true,
    // Drawn in the zone of a browser, dates could move to another day.
    timezone: 'utc',
    time: { from: 'now-90d', to: 'now' },
    refresh: '5m',
    templating: { list: [variable] },
    panels: Object.values<StarterChart>(charts).map((chart, index) => panel(kind, chart, index)),
  }
}

function panel(kind: DatabaseKind, chart: StarterChart, index: number): unknown {
  return {
    id: index + 1,
    title: chart.title,
    description: chart.meaning,
    type: panelTypes[chart.visualisation],
    datasource: dataSources[kind],
    gridPos: { x: (index % 2) * 12, y: Math.floor(index / 2) * 9, w: 12, h: 9 },
    fieldConfig: {
      defaults: panelDefaults(chart),
      overrides: Object.entries(chart.columns).map(columnOverride),
    },
    options: panelOptions(chart),
    targets: [target(kind, chart)],
  }
}

/** Lines that are named by a series have no column name that an override could find. */
function panelDefaults({ visualisation, columns }: StarterChart): unknown {
  const names = Object.values(columns).map(({ kind }) => units[kind])
  const unit = visualisation === 'line' ? names.find((name) => name !== undefined) : undefined
  return { custom: {}, min: 0, ...(unit === undefined ? {} : { unit }) }
}

function columnOverride([name, { kind, title }]: [
  string,
  StarterChart['columns'][string],
]): unknown {
  const unit = units[kind]
  return {
    matcher: { id: 'byName', options: name },
    properties: [
      // A line that is named by a series keeps that name.
      ...(kind === 'day' || kind === 'share' ? [] : [{ id: 'displayName', value: title }]),
      ...(unit === undefined ? [] : [{ id: 'unit', value: unit }]),
      ...(kind === 'mean' ? [{ id: 'decimals', value: 1 }] : []),
    ],
  }
}

function panelOptions({ visualisation, columns }: StarterChart): unknown {
  if (visualisation === 'table') return { showHeader: true, cellHeight: 'sm' }
  const legend = { displayMode: 'list', placement: 'bottom', showLegend: true }
  if (visualisation === 'line') return { legend, tooltip: { mode: 'multi' } }
  const [xField] = Object.keys(columns)
  return { legend, tooltip: { mode: 'multi' }, xField, xTickLabelSpacing: 100, stacking: 'none' }
}

function target(kind: DatabaseKind, chart: StarterChart): unknown {
  const query = grafanaQuery(kind, chart)
  const isSeries = chart.visualisation === 'line'
  const common = { refId: 'A', datasource: dataSources[kind] }
  if (kind === 'postgres') {
    return {
      ...common,
      rawSql: query,
      rawQuery: true,
      editorMode: 'code',
      format: isSeries ? 'time_series' : 'table',
    }
  }
  const queryType = isSeries ? 'time series' : 'table'
  return {
    ...common,
    queryText: query,
    rawQueryText: query,
    queryType,
    timeColumns: isSeries ? ['time'] : [],
  }
}

/** A line begins with a column `time`; the days of a bar chart are text. */
function grafanaQuery(kind: DatabaseKind, chart: StarterChart): string {
  const query = chart.select(sqlDialects[kind], filters).trim()
  const [first = '', ...rest] = Object.keys(chart.columns)
  if (chart.columns[first]?.kind !== 'day') return query
  const isLine = chart.visualisation === 'line'
  const time = kind === 'sqlite' ? `${first} || 'T00:00:00Z'` : `cast(${first} as timestamp)`
  const day = isLine ? time : `cast(${first} as text)`
  return `select ${[`${day} as ${isLine ? 'time' : first}`, ...rest].join(', ')}\nfrom
    (\n${query}\n) chart\norder by 1`
}
