/**
 * Which schema of a Postgres database has the warehouse. Without `?schema=`, the search path
 * decides, and a schema with the role's name, made later, comes before `public`. So the one that
 * has a warehouse is used, and no project is mirrored twice. Tests:
 * `test/warehouse/second-schema.test.ts`.
 */
import type pg from 'pg'
import type { ProjectId } from '../values/project.ts'
import { errorCode, UserError } from '../values/user-error.ts'
import { quoteName } from './dialect.ts'

/** For a query that reads more. */
export const schemaColumns = `current_schema() as schema, current_schemas(false)::text[]
  as "searchPath",
  array(select nspname::text from pg_class join pg_namespace on pg_namespace.oid = relnamespace
    where relname = 'sync_schema' and relkind = 'r' order by nspname) as warehouses`

export type FoundSchemas = {
  readonly schema: string | null
  readonly searchPath: readonly string[]
  readonly warehouses: readonly string[]
}

/**
 * Null: there is none that tables could be created in. Throws UserError if the rows of a project
 * are in another schema, or in two of the search path.
 */
export async function chooseSchema(
  client: pg.ClientBase,
  { schema: current, searchPath, warehouses }: FoundSchemas,
  projects: readonly ProjectId[],
): Promise<string | null> {
  const first = searchPath.find((name) => warehouses.includes(name)) ?? null
  const others = warehouses.filter((name) => name !== first)
  const chosen = first ?? current
  if (others.length === 0 || projects.length === 0) return chosen
  const missing = first === null ? projects : await withoutRows(client, first, projects)
  for (const other of others) {
    const absent = await withoutRows(client, other, projects)
    const isThere = (project: ProjectId) => !absent.includes(project)
    // Outside of the search path, a mirror of the same project may be a copy for something else.
    const found = (searchPath.includes(other) ? projects : missing).find(isThere)
    if (found !== undefined) throw mirroredElsewhere(found, other, chosen, !missing.includes(found))
  }
  return chosen
}

/** Those of the projects of which the schema has no rows, or none that this role may read. */
async function withoutRows(client: pg.ClientBase, schema: string, projects: readonly ProjectId[]) {
  const from = (table: string) =>
    `select project_id from ${quoteName(schema)}.${table} where project_id = any($1)`
  const query = `${from('sync_runs')} union ${from('writebacks')} union ${from('conversations')}`
  try {
    const { rows } = await client.query<{ project_id: string }>(query, [projects])
    return projects.filter((project) => rows.every(({ project_id }) => project_id !== project))
  } catch (error) {
    if (isUnreadable(error)) return projects
    throw error
  }
}

/** No right to read it (42501), or tables of something else (class 42). */
function isUnreadable(error: unknown): boolean {
  return /^42/.test(errorCode(error))
}

/** `isInBoth`: the schema that would be used has rows of it, too. */
function mirroredElsewhere(
  project: ProjectId,
  schema: string,
  chosen: string | null,
  isInBoth: boolean,
): UserError {
  const instead =
    chosen === null ? '' : `, and the search path of this role leads to the schema ${chosen}`
  const anew = `, or ?schema=${chosen} for a mirror that begins anew and does not know what was sent`
  const other = chosen === null ? '' : isInBoth ? `, or ?schema=${chosen}` : anew
  return new UserError({
    what: 'cannot tell which schema of the database is the warehouse',
    why:
      `the project ${project} is mirrored in the schema ${schema}` +
      (isInBoth ? ` and in ${chosen}` : instead),
    next: `add ?schema=${schema} to the address of the warehouse${other}`,
  })
}
