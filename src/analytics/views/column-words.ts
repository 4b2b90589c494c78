/** How objects for analysts are read, in words: for the dictionary and for assistants. */
import { type ColumnType, columnTypes } from '../../../schema/column-types.ts'
import { relationOf } from './all-views.ts'
import type { ViewColumn } from './view-spec.ts'

/** As Markdown. */
export const readingRules: readonly string[] = [
  '**Names.** `fct_…`: a row for each thing that happened. `dim_…`: what it refers to. ' +
    '`report_…`: numbers for a chart.',
  '**Types.** A *time* is UTC; a *date* is a day, and `…_hour` an hour, of the time zone ' +
    'of the project. `?`: may be null.',
  `**Use.** *sum*: may be added up over days. *mean by*: a mean, to be weighted by that column. *distinct*: different things, which
  must not be added up. *as it is*: a median, a share or a state, which must not be added up or averaged. *s*: seconds. *share*: a fraction of 1. *leads to*: the key of another object, beside \`project_id\`.`,
]

/** In plain words, as `readingRules` explain them. */
export function typeWordOf(type: ColumnType, isNullable: boolean): string {
  const { exported } = columnTypes[type]
  return `${exported === 'json' ? 'JSON' : exported}${isNullable ? '?' : ''}`
}

export function useOf(
  object: string,
  name: string,
  { role, unit, aggregation }: ViewColumn,
): string {
  const relation = relationOf(object, name)
  if (relation !== null) return `leads to \`${relation.object}\``
  if (role !== 'measure') return role
  const combined =
    typeof aggregation === 'object' ? `mean by ${aggregation.weightedBy.join(' + ')}` : aggregation
  return `${combined === 'none' ? 'as it is' : combined}${unit === null ? '' : unit === 'seconds' ? ', s' : ', share'}`
}
