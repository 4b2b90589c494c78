/**
 * Whose a row is: the ids that it names, of a person or of what is a person's. Erasing, refusing
 * what comes back and leaving it out of a comparison all ask here.
 */
import type { DatabaseKind } from './column-types.ts'
import { type ErasedId, erasedTables } from './mirror-tables.ts'

/** `row`: its name in the statement. `setting`: SQL of the path that `call_fields` has. */
type RowSource = { readonly row: string; readonly setting: (column: string) => string }

export const storedSettings = (row: string, callFields = 'call_fields'): RowSource => ({
  row,
  setting: (column) => `(select ${column} from ${callFields} where project_id = ${row}.project_id)`,
})

/**
 * A condition: the row names one of the ids. A column has an id as the list has it, and an index;
 * an undocumented field may have it in other letters: `isLowered`. `inIds`: SQL of `in (…)`.
 */
export function namesAny(
  kind: DatabaseKind,
  ids: readonly ErasedId[],
  source: RowSource,
  inIds: (list: ErasedId['list'], isLowered: boolean) => string,
): string {
  const conditions = ids.map((id) => {
    const isIn = inIds(id.list, id.field !== null)
    if (id.field !== 'any') return `${idOf(kind, source, id)} ${isIn}`
    return `exists (select 1 from ${uuidsIn[kind](`${source.row}.${id.column}`)} where id ${isIn})`
  })
  return conditions.length === 0 ? 'false' : conditions.join(' or ')
}

/** A condition: the row names an id of a person who was erased. */
export function namesErased(
  kind: DatabaseKind,
  table: string,
  source: RowSource,
  erasedIds = 'erased_ids',
): string {
  const ids = erasedTables[table] ?? []
  const ofProject = `from ${erasedIds} as e where e.project_id = ${source.row}.project_id`
  const single = ids
    .filter(({ field }) => field !== 'any')
    .map((id) => `lower(${idOf(kind, source, id)})`)
  const isNamed = `exists (select 1 ${ofProject} and e.id in (${single.join(', ')}))`
  if (!ids.some(({ field }) => field === 'any')) return isNamed
  const uuids = `(select id from ${uuidsIn[kind](`${source.row}.raw`)})`
  return `exists (select 1 ${ofProject}) and (${isNamed} or exists (select 1 ${ofProject}
    and e.id in ${uuids}))`
}

function idOf(
  kind: DatabaseKind,
  { row, setting }: RowSource,
  { column, field }: ErasedId,
): string {
  const value = `${row}.${column}`
  if (field === null || field === 'any') return value
  const path = 'path' in field ? `'${field.path}'` : setting(field.setting)
  return kind === 'sqlite'
    ? `lower(json_extract(${value}, '$.' || ${path}))`
    : `lower(${value} #>> string_to_array(${path}, '.')) collate "C"`
}

/**
 * Texts as long as a UUID at least, in small letters: a shorter one may be a number of anything.
 */
const uuidsIn: Readonly<Record<DatabaseKind, (json: string) => string>> = {
  sqlite: (json) =>
    `(select lower(atom) as id from json_tree(${json}) where type = 'text' and length(atom) >= 32)
      as found`,
  postgres: (
    json,
  ) => `(select lower(value #>> '{}') collate "C" as id from jsonb_path_query(${json},
    'strict $.**') as value
    where jsonb_typeof(value) = 'string' and length(value #>> '{}') >= 32) as found`,
}
