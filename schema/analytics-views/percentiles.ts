/**
 * Exact medians and percentiles in both databases, without functions that one of them lacks.
 *
 * They are computed by windows instead of `group by`: SQLite hands a filter by day down through windows, and not through
 * an aggregate, which would read the whole history for one week.
 */

export type PercentileSource = {
  /** Columns that the values are grouped by, as `name: expression`. */
  readonly groups: Readonly<Record<string, string>>
  /** The expression of the values, whole numbers; nulls must be excluded by `from`. */
  readonly value: string
  /** What follows `from`. */
  readonly from: string
}

/**
 * A query with one row for each group: its columns, `values_counted`, `median_value` (the mean of the two middle values),
 * `p90_value` (the smallest value that nine tenths of the values do not exceed) and `mean_value`.
 */
export function percentilesOf({ groups, value, from }: PercentileSource): string {
  const names = Object.keys(groups).join(', ')
  const expressions = Object.values(groups).join(', ')
  const selected = Object.entries(groups).map(([name, expression]) => `${expression} as ${name}`)
  return `
    select ${names}, values_counted, median_value, p90_value, mean_value
    from (
      select ${names}, values_counted, mean_value,
        avg(case when place in ${middlePlaces} then cast(counted_value as double precision) end)
          over (partition by ${names}) as median_value,
        max(case when place = ${p90Place} then counted_value end) over (partition by ${names}) as p90_value,
        row_number() over (partition by ${names} order by place) as row_of_group
      from (
        select ${selected.join(', ')}, ${value} as counted_value,
          row_number() over (partition by ${expressions} order by ${value}) as place,
          count(*) over (partition by ${expressions}) as values_counted,
          avg(cast(${value} as double precision)) over (partition by ${expressions}) as mean_value
        from ${from}
      ) placed
      where place in ${middlePlaces} or place = ${p90Place}
    ) summarised
    where row_of_group = 1`
}

/** The same place twice if the number of values is odd. */
const middlePlaces = '((values_counted + 1) / 2, (values_counted + 2) / 2)'
const p90Place = '(9 * values_counted + 9) / 10'
