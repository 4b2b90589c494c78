/** The tables whose rows are erased with a visitor, and by which ids of theirs. */
import { mirrorTables } from './mirror-tables.ts'
import type { ListStreamName, streamSpecs } from './stream-specs.ts'

type Tables = typeof mirrorTables
type Lists = (typeof streamSpecs)[ListStreamName]
type IdColumn = `${Lists['singular']}_id`
type Ids<T extends keyof Tables> = (keyof Tables[T]['columns'] & IdColumn) | (T extends Lists['table'] ? 'id' : never)

/** A table that has the id of a row of a list says so in `erasedWith`. */
const tables = mirrorTables satisfies { [T in keyof Tables]: { erasedWith: Record<Ids<T>, ListStreamName> } }

/** `field`: of the JSON in the column, which then is `raw`; null = the column is the id. */
export type ErasedId = { readonly column: string; readonly field: string | null; readonly list: ListStreamName }

const toId = ([path, list]: [string, ListStreamName]): ErasedId => {
  const [column = path, field = null] = path.split('.')
  return { column, field, list }
}

export const erasedTables: Readonly<Record<string, readonly ErasedId[]>> = Object.fromEntries(
  Object.entries(tables)
    .filter(([, { erasedWith, ...spec }]) => !('storedIn' in spec) && Object.keys(erasedWith).length > 0)
    .map(([table, { erasedWith }]) => [table, Object.entries<ListStreamName>(erasedWith).map(toId)]),
)
