/**
 * Puts numbers of several queries side by side, one row for each key, as a full join would. It does so by windows: SQLite
 * hands a filter by day down through windows into each query, and not through joins or `group by`.
 */
import type { ViewColumn } from './analytics-view.ts'

export type MergedSource = {
  /** The expressions of the key, in its order. */
  readonly key: readonly string[]
  /** The expressions of the columns that this query gives; each column comes from one query. */
  readonly columns: Readonly<Record<string, string>>
  /** What follows `from`. With a `group by`, it names tables only, so that SQLite filters before it groups. */
  readonly from: string
}

export type Merge = {
  readonly key: readonly string[]
  /** A column that cannot be null is 0 where its query has no row. */
  readonly columns: Readonly<Record<string, Pick<ViewColumn, 'type' | 'isNullable'>>>
  readonly sources: readonly MergedSource[]
}

export function mergeByKey({ key, columns, sources }: Merge): string {
  const names = Object.entries(columns)
  const keyList = key.join(', ')
  const merged = names.map(([name, { isNullable }]) => {
    const value = `max(${name}) over (partition by ${keyList})`
    return `${isNullable ? value : `coalesce(${value}, 0)`} as ${name}`
  })
  const arms = sources.map((source) => {
    const keys = key.map((name, index) => `${source.key[index]} as ${name}`)
    // Each null has a type, as Postgres takes the types of a union from its first queries.
    const values = names.map(
      ([name, { type }]) => `cast(${source.columns[name] ?? 'null'} as ${castType(type)}) as ${name}`,
    )
    return `
        select ${[...keys, ...values].join(', ')}
        from ${source.from}`
  })
  return `
    select ${[...key, ...Object.keys(columns)].join(', ')}
    from (
      select ${[...key, ...merged].join(',\n        ')},
        row_number() over (partition by ${keyList}) as place
      from (${arms.join('\n        union all')}
      ) sources
    ) merged
    where place = 1`
}

/** Names that both databases take for their integers and floating-point numbers. */
function castType(type: ViewColumn['type']): string {
  return type === 'number' ? 'double precision' : 'bigint'
}
