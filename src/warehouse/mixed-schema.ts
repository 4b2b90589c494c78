/**
 * Recognises tables that no migration leaves: of a dump that was restored over existing ones or in
 * part, and of people with the name of one of ours. Nothing may be read from them or stored.
 */
import type { DatabaseKind } from '../../schema/column-types.ts'
import { type Run, readTables } from '../../schema/create-missing.ts'
import { indexes, uniqueIndexes } from '../../schema/indexes.ts'
import { fenceTrigger } from '../../schema/move-fence.ts'
import { type TableSpec, tables } from '../../schema/tables.ts'
import { triggerNames } from '../../schema/triggers.ts'
import { type ErrorTexts, UserError } from '../values/user-error.ts'

const specs = Object.entries<TableSpec>(tables)

/**
 * `isFenced`: a project has moved away, or is arriving. `mixed`: what is wrong with the tables.
 * `applied`: the migrations that the database names. `isCurrent`: all.
 */
export async function inspectSchema(
  run: Run,
  kind: DatabaseKind,
  applied: readonly string[],
  isCurrent: boolean,
) {
  const objects = new Set((await run(listObjects[kind])).map(({ type, name }) => `${type} ${name}`))
  const foreign = isCurrent ? null : findForeign(objects, await readTables(run, kind))
  const isFenced = objects.has(`trigger ${fenceTrigger}`)
  if (foreign !== null)
    return mixed({
      what: 'cannot use the warehouse',
      why: `its database has ${foreign} that deskmirror did not create, and needs the name`,
      next:
        'rename it, then run `deskmirror migrate`; or use another database, or another ' +
        'schema of it (?schema=NAME)',
    })
  const found =
    findFault(kind, applied, objects) ??
    (isCurrent ? (findLost(kind, objects) ?? (await findDoubled(run, kind))) : null)
  if (found === null) return { mixed: null, isFenced }
  return mixed({
    what: 'cannot use the warehouse',
    why: `it has ${found}, as after a dump that was restored over existing tables, or only in part`,
    next:
      'restore the dump into a new, empty database (docs/guide.md, Back ' +
      'up and restore), or use another one',
  })
}

const mixed = (texts: ErrorTexts) => ({
  mixed: new UserError(texts),
  isFenced: false,
})

/** Tables and indexes with our names that no version made like that. */
function findForeign(
  objects: ReadonlySet<string>,
  columns: ReadonlyMap<unknown, ReadonlySet<unknown>>,
): string | null {
  for (const [name, { key, storedIn }] of specs) {
    if (storedIn === undefined && objects.has(`view ${name}`)) return `a view ${name}`
    const found = columns.get(name)
    if (found !== undefined && !key.every((column) => found.has(column))) return `a table ${name}`
  }
  const names = new Set([...uniqueIndexes, ...indexes].map(nameOf))
  for (const object of objects) {
    const [, table = '', name = ''] = /^index on (.*): (.*)$/s.exec(object) ?? []
    if (names.has(name) && !(table in tables)) return `an index ${name}`
  }
  return null
}

const nameOf = (index: string) => index.replace(/ .*/s, '')

function findFault(
  kind: DatabaseKind,
  applied: readonly string[],
  objects: ReadonlySet<string>,
): string | null {
  const present = specs.filter(([name]) => objects.has(`table ${name}`))
  if (applied.length === 0)
    return present.length === 0
      ? null
      : `${listed(present.map(([name]) => name))}, but no list of migrations`
  const keyed = present.filter(
    ([, { postgresIndex }]) => kind === 'sqlite' || postgresIndex === undefined,
  )
  const withoutKey = ['sync_schema', ...keyed.map(([name]) => name)].filter(
    (name) => !objects.has(`key ${name}`),
  )
  return withoutKey.length === 0 ? null : `no primary key on ${listed(withoutKey)}`
}

/** What this version makes, and the database lacks. */
function findLost(kind: DatabaseKind, objects: ReadonlySet<string>): string | null {
  const made = [
    ...specs.map(([name, { storedIn }]) => `${storedIn === undefined ? 'table' : 'view'} ${name}`),
    ...uniqueIndexes.map((index) => `index ${nameOf(index)}`),
    ...triggerNames(kind).map((name) => `trigger ${name}`),
  ]
  const lost = made.filter((object) => !objects.has(object))
  return lost.length === 0 ? null : `no ${listed(lost)}`
}

/** In tables whose rows Postgres does not keep apart, as far as this user may read them. */
async function findDoubled(run: Run, kind: DatabaseKind): Promise<string | null> {
  if (kind === 'sqlite') return null
  const names = Object.keys(queriesForDoubledRows).map((name) => `'${name}'`)
  const readable = await run(
    `select name from unnest(array[${names.join(', ')}]) as name
      where has_table_privilege(name, 'select')`,
  )
  const queries = readable.map(({ name }) => queriesForDoubledRows[String(name)])
  const doubled = queries.length === 0 ? [] : await run(queries.join(' union all '))
  return doubled.length === 0
    ? null
    : `rows twice in ${listed(doubled.map(({ name }) => String(name)))}`
}

function listed(names: readonly string[]): string {
  const [first, second, ...others] = names
  if (second === undefined) return `${first}`
  return others.length === 0
    ? `${first} and ${second}`
    : `${first}, ${second} and ${others.length} more`
}

/**
 * `table NAME`, `view NAME`, `key TABLE`, `index NAME`, `index on TABLE: NAME`, `trigger NAME`. No
 * table is asked for its columns: it may be virtual, of a module that only people load.
 */
const listObjects: Readonly<Record<DatabaseKind, string>> = {
  sqlite: `select type, name from sqlite_master
  union all select 'key', name from sqlite_master where type = 'table' and sql like '%primary key%'
  union all select 'index on', tbl_name || ': ' || name from sqlite_master where type = 'index'`,
  postgres: `
  with here as (select coalesce(
    (select relnamespace from pg_class where oid = to_regclass('sync_schema')),
    (select oid from pg_namespace where nspname = current_schema())) as id)
  select case relkind when 'r' then 'table' when 'i' then 'index' else 'view' end as type, relname
  as name
    from pg_class join here on relnamespace = here.id where relkind in ('r', 'i', 'v')
  union all select 'key', relname from pg_class join here on relnamespace = here.id
    join pg_constraint on conrelid = pg_class.oid and contype = 'p'
  union all select 'index on', indexed.relname || ': ' || pg_class.relname from pg_class join here
  on relnamespace = here.id
    join pg_index on indexrelid = pg_class.oid join pg_class indexed on indexed.oid = indrelid
  union all select 'trigger', tgname from pg_class join here on relnamespace = here.id
    join pg_trigger on tgrelid = pg_class.oid and not tgisinternal`,
}

/** A restore doubles all rows of a table, or none: the first ones tell. */
const queriesForDoubledRows = Object.fromEntries(
  specs.flatMap(([name, { key, postgresIndex }]) => {
    if (postgresIndex === undefined) return []
    const same = key.map((column) => `other.${column} = one.${column}`).join(' and ')
    const query = `select '${name}' as name where exists (select 1 from (select *
      from ${name} limit 20) one
      where (select count(*) from ${name} other where ${same}) > 1)`
    return [[name, query]]
  }),
)
