/** What was found of values that should be nowhere, and what removes it. */
import type { RemainsReport } from '../../maintenance/maintenance.ts'
import { pluralize } from '../../values/format.ts'
import { linesOf } from './table.ts'

export const isClean = ({ remains, unread }: RemainsReport) =>
  remains.length === 0 && unread.length === 0

/** Never a value. */
export function remainsLines(search: RemainsReport): readonly string[] {
  const { values, notSearched, tables, files, remains, unread, elsewhere } = search
  const searched =
    `looked for ${pluralize(values, 'value')} in ${pluralize(tables, 'table')} and ` +
    `${pluralize(files, 'file')}`
  const found = remains.flatMap(({ place, values: count, why, command }) => [
    `  ${place}: ${count === null ? '' : `${pluralize(count, 'value')}; `}${why}`,
    `    ${command === null ? 'no command removes it' : `to remove it: ${command}`}`,
  ])
  return linesOf(
    `${searched}: ${remains.length === 0 ? 'nothing is left' : 'this is left'}`,
    found,
    unread.map(({ place, why }) => `  ${place} was not looked through: ${why}`),
    notSearched > 0 && `${pluralize(notSearched, 'value')} too short or too common to look for`,
    'out of reach (docs/guide.md):',
    elsewhere.map((where) => `  ${where}`),
  )
}
