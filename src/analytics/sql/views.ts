/**
 * Creates the views for analysts, and replaces them when this version's differ. Which views were
 * created, and from what SQL, is itself a view (`sync_views`), so that it cannot disagree.
 */
import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import type { ListStreamName } from '../../../schema/stream-specs.ts'
import { tables } from '../../../schema/tables.ts'
import { namesIn } from '../../values/field-path.ts'
import { UserError } from '../../values/user-error.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import {
  batchesOf,
  isInSchema,
  quoteName,
  quoteText,
  readColumns,
  type TableColumn,
} from '../../warehouse/dialect.ts'
import { writeComments } from '../../warehouse/migrate.ts'
import { analyticsObjects, analyticsViews, metabaseMetadata } from '../views/all-views.ts'
import { sqlDialects } from '../views/sql-dialect.ts'
import { type AnalyticsView, describeColumn, describeObject } from '../views/view-spec.ts'

const registryName = 'sync_views'
const views = Object.entries<AnalyticsView>(analyticsViews)

/** Under the lock of migrations. Queries of BI tools delay it until they end. */
export async function updateAnalyticsViews(trx: Db, kind: DatabaseKind): Promise<void> {
  const existing = await listObjects(trx, kind)
  const created = existing.has(registryName) ? await readRegistry(trx) : new Map<string, string>()
  const fingerprint = fingerprintOf(kind)
  const isCurrent = views.every(([name]) => existing.has(name) && created.get(name) === fingerprint)
  if (isCurrent && created.size === views.length) return
  rejectForeignObjects(existing, created)
  // Views that read others come after them, in the registry as well.
  const old = [registryName, ...[...created.keys()].reverse()].filter((name) => existing.has(name))
  if (kind === 'sqlite' || !(await replaceViews(trx, kind, old))) {
    const grants = kind === 'sqlite' ? [] : await listGrants(trx)
    await dropViews(trx, old)
    await createViews(trx, kind, 'create view')
    for (const grant of grants) await sql.raw(grant).execute(trx)
  }
  await createRegistry(trx, fingerprint)
  if (kind === 'postgres') await writeViewComments(trx)
  await writeMetabaseMetadata(trx)
}

/** Tables and views of the schema. */
async function listObjects(db: Db, kind: DatabaseKind): Promise<ReadonlySet<string>> {
  const { rows } = await (kind === 'sqlite'
    ? sql<{ name: string }>`select name from sqlite_master where type in ('table', 'view')`
    : sql<{ name: string }>`select c.relname as name from pg_class c
        join pg_namespace n on n.oid = c.relnamespace and n.nspname = current_schema()
        where c.relkind in ('r', 'v', 'm', 'f', 'p')`
  ).execute(db)
  return new Set(rows.map(({ name }) => name))
}

async function readRegistry(db: Db): Promise<Map<string, string>> {
  const { rows } = await sql<{ name: string; fingerprint: string }>`
    select name, fingerprint from ${sql.table(registryName)}`.execute(db)
  return new Map(rows.map(({ name, fingerprint }) => [name, fingerprint]))
}

const fingerprints = new Map<DatabaseKind, string>()

/** Of the SQL and all texts that are stored with it: the same in every warehouse. */
function fingerprintOf(kind: DatabaseKind): string {
  const known = fingerprints.get(kind)
  if (known !== undefined) return known
  const statements = views.map(([, view]) => view.select(sqlDialects[kind]))
  const text = JSON.stringify([statements, analyticsObjects])
  const fingerprint = createHash('sha256').update(text).digest('hex').slice(0, 16)
  fingerprints.set(kind, fingerprint)
  return fingerprint
}

/** A view of the user that has the name of one of ours is never replaced. */
function rejectForeignObjects(
  existing: ReadonlySet<string>,
  created: ReadonlyMap<string, string>,
): void {
  const foreign = views.find(([name]) => existing.has(name) && !created.has(name))
  if (foreign === undefined) return
  throw new UserError({
    what: `cannot create the view ${foreign[0]}`,
    why: 'the database has a table or view of that name, which deskmirror did not create',
    next: 'rename it, then run `deskmirror migrate`',
    exitCode: 2,
  })
}

/**
 * Postgres: views keep their rights and their readers as long as their columns stay; else false.
 */
async function replaceViews(trx: Db, kind: DatabaseKind, old: readonly string[]): Promise<boolean> {
  await sql`savepoint replacing`.execute(trx)
  const retired = old.filter((name) => !(name in analyticsViews))
  const isReplaced = await dropViews(trx, retired)
    .then(() => createViews(trx, kind, 'create or replace view'))
    .then(
      () => true,
      async (error: unknown) => {
        if (!hasCode(error, invalidTableDefinition)) throw error
        await sql`rollback to savepoint replacing`.execute(trx)
        return false
      },
    )
  await sql`release savepoint replacing`.execute(trx)
  return isReplaced
}

/** Without the rights on views that are made anew, each dashboard would be blank after an upgrade. */
async function listGrants(trx: Db): Promise<readonly string[]> {
  const { rows } = await sql<{ grant: string }>`
    select format('grant select on %I to %s%s', relname,
      case grantee when 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end,
      case when is_grantable then ' with grant option' end) as grant
    from pg_class, aclexplode(relacl) where privilege_type = 'SELECT' and grantee <> relowner
      and ${isInSchema} and relname in (${sql.join(views.map(([name]) => name))})`.execute(trx)
  return rows.map(({ grant }) => grant)
}

async function createViews(
  trx: Db,
  kind: DatabaseKind,
  create: 'create view' | 'create or replace view',
  list = views,
  without?: string,
): Promise<void> {
  for (const [name, view] of list)
    await sql`${sql.raw(create)} ${sql.table(name)} as
      ${sql.raw(await viewSql(trx, kind, view, without))}`.execute(trx)
}

/** `without`: a column about to be widened. */
export async function showDiscoveredColumns(
  trx: Db,
  kind: DatabaseKind,
  table: string,
  without?: string,
) {
  const shown = views.filter(([, { discovers }]) => discovers === table)
  if (kind === 'postgres') return createViews(trx, kind, 'create or replace view', shown, without)
  for (const [name] of shown) await sql`drop view if exists ${sql.table(name)}`.execute(trx)
  await createViews(trx, kind, 'create view', shown, without)
}

async function dropViews(trx: Db, names: readonly string[]): Promise<void> {
  for (const name of names) await sql`drop view ${sql.table(name)}`.execute(trx)
}

// Source: postgresql.org/docs/current/errcodes-appendix.html, read 2026-11-22.
const invalidTableDefinition = '42P16'
const dependentObjectsStillExist = '2BP01'

const hasCode = (error: unknown, code: string) =>
  error instanceof Error && 'code' in error && error.code === code

/** A view of a user that reads ours stops it from being dropped. Other errors are returned. */
export function explainDependentView(error: unknown): unknown {
  if (!hasCode(error, dependentObjectsStillExist)) return error
  const detail =
    error instanceof Error && 'detail' in error ? String(error.detail) : 'another view reads it'
  return new UserError(
    {
      what: 'cannot replace or drop what another view reads',
      why: detail.replaceAll('\n', '; '),
      next: 'drop that view, run `deskmirror migrate`, and create it again from what there is then',
      exitCode: 2,
    },
    { cause: error },
  )
}

async function createRegistry(trx: Db, fingerprint: string): Promise<void> {
  const rows = views.map(([name]) => `select '${name}' as name, '${fingerprint}' as fingerprint`)
  await sql`create view ${sql.table(registryName)} as ${sql.raw(rows.join(' union all '))}`.execute(
    trx,
  )
}

async function writeViewComments(trx: Db): Promise<void> {
  const objects = analyticsObjects
    .filter(({ type }) => type === 'view')
    .map((object) => {
      const columns = Object.entries(object.columns).map(([column, described]) => [
        column,
        describeColumn(described),
      ])
      return {
        type: 'view' as const,
        name: object.name,
        note: describeObject(object),
        columns: Object.fromEntries(columns),
      }
    })
  const registry = {
    type: 'view' as const,
    name: registryName,
    note: 'Which views deskmirror created, and from what.',
    columns: { name: 'name of the view', fingerprint: 'changes with the definitions of the views' },
  }
  await writeComments(trx, [...objects, registry])
}

async function writeMetabaseMetadata(trx: Db): Promise<void> {
  await trx.deleteFrom('_metabase_metadata').execute()
  for (const rows of batchesOf(metabaseMetadata(), 500))
    await trx.insertInto('_metabase_metadata').values(rows).execute()
}

/**
 * With the discovered columns of the mirrored table, as texts, so that one keeps its type when it
 * is widened. `without`: one about to be, which nothing may depend on; null stands in for it.
 */
async function viewSql(
  trx: Db,
  kind: DatabaseKind,
  view: AnalyticsView,
  without?: string,
): Promise<string> {
  const select = view.select(sqlDialects[kind])
  if (view.discovers === undefined) return select
  const documented = tables[view.discovers].columns
  const found = (await readColumns(trx, kind, view.discovers)).filter(
    ({ name }) => !(name in documented),
  )
  const shown = new Map(
    found.map((column) => [
      column.name in view.columns ? `field_${column.name}` : column.name,
      column,
    ]),
  )
  const { discovers, discoversInRaw = false } = view
  if (shown.size === 0 && !discoversInRaw) return select
  const paths = discoversInRaw ? await readPaths(trx, discovers) : null
  const shownValue = (column: TableColumn) => {
    if (paths !== null) return textInRaw(kind, paths.get(column.name) ?? null)
    return column.name === without ? 'null' : asText(kind, column)
  }
  const columns = [...shown].map(
    ([name, column]) =>
      `case when s.personal_data then cast(${shownValue(column)} as text) end as ${quoteName(name)}`,
  )
  const own = discoversInRaw ? Object.keys(view.columns).map((name) => `o.${name}`) : ['o.*']
  const joined = `left join ${discovers} t on t.project_id = o.project_id and t.id = o.${view.key[1]}`
  return `
    select ${[...own, ...columns].join(',\n      ')}
    from (${select}
    ) o
    ${discoversInRaw ? '' : joined}
    left join facts_state s on s.project_id = o.project_id`
}

/** The path of the field that each discovered column has, or had. Projects share the columns. */
async function readPaths(trx: Db, stream: ListStreamName): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql<{ path: string; column: string; former: string | null }>`
    select path, column_name as "column", former_columns as former from discovered_fields
    where stream = ${stream} and column_name is not null order by project_id, path`.execute(trx)
  return new Map(
    rows.flatMap(({ path, column, former }) =>
      [{ name: column }, ...JSON.parse(former ?? '[]')].map(({ name }) => [name, path]),
    ),
  )
}

/** Null: not known, or no name that SQLite finds in JSON. */
function textInRaw(kind: DatabaseKind, path: string | null): string {
  const names = path === null ? [] : namesIn(path)
  if (names.length === 0 || !names.every((name) => /^[^"\\\p{C}\u241b]+$/u.test(name)))
    return 'null'
  if (kind === 'postgres') return `o.raw #>> array[${names.map(quoteText).join(', ')}]`
  const at = quoteText(`$${names.map((name) => `."${name}"`).join('')}`)
  return `case json_type(o.raw, ${at}) when 'true' then 'true' when 'false' then 'false'
        else json_extract(o.raw, ${at}) end`
}

/** The same text in both databases. */
function asText(kind: DatabaseKind, { name, declared }: TableColumn): string {
  const value = `t.${quoteName(name)}`
  if (kind === 'postgres')
    return declared === 'timestamp with time zone'
      ? `to_char(${value} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`
      : value
  if (declared === 'boolean') return `case ${value} when 1 then 'true' when 0 then 'false' end`
  return declared === 'real'
    ? `case when ${value} is not null then printf('%.15g', ${value}) end`
    : value
}
