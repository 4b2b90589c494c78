/** The starter dashboard for Metabase: what deploy/metabase/setup.ts creates over its API. */

import type { DatabaseKind } from '../../../schema/column-types.ts'
import { analystObjects, relationsOf } from '../views/all-views.ts'
import { sqlDialects } from '../views/sql-dialect.ts'
import { type ChartFilters, charts, type StarterChart } from './charts.ts'

/**
 * Metabase removes what is in double brackets where a filter is empty: then the last 90 days count,
 * until tomorrow, as the local day may be later. In SQLite it passes a day as `YYYY-MM-DD`, which
 * compares with dates; `coalesce` needs two arguments. A subquery in place of the project would
 * keep SQLite from filtering within views.
 */
function filtersOf(kind: DatabaseKind): ChartFilters {
  const [first, last] =
    kind === 'sqlite'
      ? ["date('now', '-90 days')", "date('now', '+1 day')"]
      : ['current_date - 90', 'current_date + 1']
  return {
    project: (column) => `${column} = {{project}}`,
    days: (column) =>
      `${column} >= coalesce([[{{from}}, ]]${first}, null) and ${column} <= ` +
      `coalesce([[{{to}}, ]]${last}, null)`,
  }
}

/** Fixed identifiers, so that a second setup finds what the first one created. */
const metabaseParameters = [
  { id: 'de5c0001', name: 'Project', slug: 'project', type: 'category', tag: 'text' },
  { id: 'de5c0002', name: 'From', slug: 'from', type: 'date/single', tag: 'date' },
  { id: 'de5c0003', name: 'To', slug: 'to', type: 'date/single', tag: 'date' },
] as const

export function metabaseQuery(kind: DatabaseKind, chart: StarterChart): string {
  return chart.select(sqlDialects[kind], filtersOf(kind)).trim()
}

export function metabaseDashboard(): unknown {
  return {
    name: 'Support (deskmirror)',
    description:
      'Made by deploy/metabase/setup.ts, which overwrites changes: ' +
      'save a copy before you change it.',
    parameters: metabaseParameters.map(({ id, name, slug, type }) => ({ id, name, slug, type })),
    cards: Object.values<StarterChart>(charts).map(card),
    // Which column leads to which, for tables that Metabase has found: views have no foreign keys.
    relations: analystObjects.flatMap((object) =>
      relationsOf(object).map(({ sharesProject: _, ...relation }) => ({
        table: object.name,
        ...relation,
      })),
    ),
  }
}

function card(chart: StarterChart, index: number): unknown {
  const queries = {
    postgres: metabaseQuery('postgres', chart),
    sqlite: metabaseQuery('sqlite', chart),
  }
  const used = metabaseParameters.filter(({ slug }) => queries.sqlite.includes(`{{${slug}}}`))
  return {
    name: chart.title,
    description: chart.meaning,
    display: chart.visualisation,
    queries,
    templateTags: Object.fromEntries(
      used.map(({ id, name, slug, tag }) => [
        slug,
        {
          id,
          name: slug,
          'display-name': name,
          type: tag,
          ...(slug === 'project' ? { required: true } : {}),
        },
      ]),
    ),
    parameterMappings: used.map(({ id, slug }) => ({
      parameter_id: id,
      target: ['variable', ['template-tag', slug]],
    })),
    visualizationSettings: settingsOf(chart),
    // Metabase's grid has 24 columns.
    position: { row: Math.floor(index / 2) * 7, col: (index % 2) * 12, size_x: 12, size_y: 7 },
  }
}

function settingsOf({ visualisation, columns }: StarterChart): unknown {
  const names = Object.keys(columns)
  const settings = Object.entries(columns).map(([name, { kind, title }]) => {
    const format =
      kind === 'share' ? { number_style: 'percent' } : kind === 'seconds' ? { suffix: ' s' } : {}
    return [JSON.stringify(['name', name]), { column_title: title, ...format }]
  })
  const column_settings = Object.fromEntries(settings)
  if (visualisation === 'table') return { column_settings }
  const isMetric = (name: string) =>
    !['day', 'category', 'series'].includes(columns[name]?.kind ?? '')
  return {
    column_settings,
    'graph.dimensions': names.filter((name) => !isMetric(name)),
    'graph.metrics': names.filter(isMetric),
    // Dates of SQLite are text for Metabase, and are in order already.
    'graph.x_axis.scale': 'ordinal',
  }
}
