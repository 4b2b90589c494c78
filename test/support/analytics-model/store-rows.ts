/**
 * Writes the rows of a world into the mirrored tables of a warehouse, as syncs would leave them
 * there.
 */
import type { Warehouse } from '../../../src/app/open.ts'
import type { Touched } from './mutations.ts'
import type { ProjectRows } from './raw-rows.ts'

type Value = string | number | boolean | null
type Row = Readonly<Record<string, Value>>

const rowsPerStatement = 500
const mirrored = { raw: '{}', synced_at: '2025-12-01T00:00:00Z', asked_at: 1 }

/** Every row of the projects, and a sync run that says since when they are mirrored. */
export async function storeProjects(
  warehouse: Warehouse,
  projects: readonly ProjectRows[],
): Promise<void> {
  const each = <T>(rowsOf: (rows: ProjectRows) => readonly T[]) =>
    projects.flatMap((rows) => rowsOf(rows).map((row) => ({ project_id: rows.project, ...row })))
  await storeFirstRun(warehouse, projects)
  await insertRows(warehouse, 'conversations', each((rows) => rows.conversations).map(withMirrored))
  await insertRows(warehouse, 'messages', each((rows) => rows.messages).map(withMirrored))
  await insertRows(
    warehouse,
    'conversation_changes',
    each((rows) => rows.changes),
  )
  await insertRows(
    warehouse,
    'availability_snapshots',
    each((rows) => rows.snapshots).map(withMirrored),
  )
  await insertRows(warehouse, 'visitor_activity', each((rows) => rows.activity).map(withPage))
}

/** Only what the mutation of each project has touched. */
export async function storeTouched(
  warehouse: Warehouse,
  projects: readonly ProjectRows[],
  touched: readonly Touched[],
): Promise<void> {
  for (const [table, column] of conversationTables) {
    const keys = touched.flatMap(({ project, conversations }) =>
      [...conversations].map((id) => [project, id] as const),
    )
    await deleteRows(warehouse, table, column, keys)
  }
  const visitors = touched.flatMap(({ project, visitors }) =>
    [...visitors].map((id) => [project, id] as const),
  )
  await deleteRows(warehouse, 'visitor_activity', 'visitor_id', visitors)
  await deleteSnapshots(warehouse, touched)
  const changed = projects.map((rows) => {
    const { conversations, visitors, snapshots } =
      touched.find(({ project }) => project === rows.project) ?? nothing
    return {
      ...rows,
      conversations: rows.conversations.filter(({ id }) => conversations.has(id)),
      messages: rows.messages.filter(({ conversation_id }) => conversations.has(conversation_id)),
      changes: rows.changes.filter(({ conversation_id }) => conversations.has(conversation_id)),
      activity: rows.activity.filter(({ visitor_id }) => visitors.has(visitor_id)),
      snapshots: rows.snapshots.filter(({ read_at }) => snapshots.includes(read_at)),
    }
  })
  await deleteRows(
    warehouse,
    'sync_runs',
    'id',
    changed.map(({ project }) => [project, 'first'] as const),
  )
  await storeProjects(warehouse, changed)
}

/** As commits of the changed rows mark them. */
export async function markTouched(
  warehouse: Warehouse,
  touched: readonly Touched[],
): Promise<void> {
  const due = touched.flatMap(({ project, conversations, visitors, snapshots }) => {
    const hours = new Set(snapshots.map((time) => `${time.slice(0, 13)}:00:00Z`))
    const ids = { conversation: conversations, visitor: visitors, availability_hour: hours }
    return Object.entries(ids).flatMap(([kind, found]) =>
      [...found].map((id) => ({ project_id: project, kind, id })),
    )
  })
  await insertRows(warehouse, 'facts_due', due)
}

const conversationTables = [
  ['conversations', 'id'],
  ['messages', 'conversation_id'],
  ['conversation_changes', 'conversation_id'],
] as const

const nothing: Touched = {
  project: '',
  conversations: new Set(),
  visitors: new Set(),
  snapshots: [],
}

const withMirrored = <T>(row: T) => ({ ...row, ...mirrored })

/** The page is an undocumented field of the entry. */
function withPage<T extends { readonly page: string | null }>({ page, ...row }: T) {
  return { ...row, ...mirrored, raw: page === null ? '{}' : JSON.stringify({ url: page }) }
}

/** Says since when the projects are mirrored. */
export async function storeFirstRun(
  warehouse: Warehouse,
  projects: readonly ProjectRows[],
): Promise<void> {
  await insertRows(warehouse, 'sync_runs', projects.map(toSyncRun))
}

function toSyncRun({ project, settings }: ProjectRows): Row {
  const counts = { requests: 0, rows_read: 0, rows_changed: 0, strings_escaped: 0, beat_at: 0 }
  return {
    project_id: project,
    id: 'first',
    mode: 'full',
    started_at: settings.mirroredSince,
    ...counts,
  }
}

/** All rows must have the same columns. */
export async function insertRows(
  warehouse: Warehouse,
  table: string,
  rows: readonly Row[],
): Promise<void> {
  const columns = Object.keys(rows[0] ?? {})
  for (let from = 0; from < rows.length; from += rowsPerStatement) {
    const values = rows
      .slice(from, from + rowsPerStatement)
      .map((row) => `(${columns.map((column) => literal(row[column] ?? null)).join(', ')})`)
    await warehouse.query(
      `insert into ${table} (${columns.join(', ')}) values ${values.join(', ')}`,
    )
  }
}

async function deleteRows(
  warehouse: Warehouse,
  table: string,
  column: string,
  keys: readonly (readonly [project: string, id: string])[],
): Promise<void> {
  for (let from = 0; from < keys.length; from += rowsPerStatement) {
    const listed = keys
      .slice(from, from + rowsPerStatement)
      .map((key) => `(${key.map(literal).join(', ')})`)
    await warehouse.query(
      `delete from ${table} where (project_id, ${column}) in (values ${listed.join(', ')})`,
    )
  }
}

/** Another world of the project may have had one at the same time. */
async function deleteSnapshots(warehouse: Warehouse, touched: readonly Touched[]): Promise<void> {
  for (const { project, snapshots } of touched) {
    if (snapshots.length === 0) continue
    const times = snapshots.map(literal).join(', ')
    await warehouse.query(
      `delete from availability_snapshots where project_id = ${literal(project)} and read_at in (${times})`,
    )
  }
}

function literal(value: Value): string {
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value)
}
