/**
 * Rewrites the keys of activity entries that an older version stored, in batches: a process that is killed loses the work
 * of one batch. Nothing else writes until all are rewritten, as an entry that is read again would be stored twice.
 */
import { sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import { entryId, renewActivityKey } from '../../core/activity-key.ts'
import { parseJson } from '../../core/json.ts'
import { occurredAt } from '../../core/occurred-at.ts'
import { UserError } from '../../core/user-error.ts'
import { markFactsOfRows } from '../analytics/pending-facts.ts'
import type { Db } from '../database/connection-pool.ts'
import { acquireLock, rowsParameter } from '../database/dialect.ts'
import { decodeJson } from '../database/escape.ts'
import { createProjectDb } from '../database/project-db.ts'
import { requestFullRereads } from './pending-children.ts'
import { acquireWriteLock } from './project-context.ts'
import type { RewriteOptions } from './rewrite-raw.ts'

const rowsPerBatch = 1000
const rewriteName = 'visitor_activity.entry_hash'
const isOlder = sql`length(entry_hash) = 64`

/** In Postgres every rewritten row leaves its old copy, whose space can only be used again after a vacuum. */
const rowsPerVacuum = 100_000

/** Returns how many rows were rewritten, and whether all are. */
export async function rewriteActivityKeys(db: Db, kind: DatabaseKind, { isOver, onProgress }: RewriteOptions = {}) {
  const total = onProgress === undefined ? 0 : await countRowsLeft(db)
  let rows = 0
  let isComplete = (await readPosition(db)) === null
  while (!isComplete) {
    rows += await db.transaction().execute((trx) => rewriteBatch(trx, kind))
    onProgress?.(rows, Math.max(0, total - rows))
    if (kind === 'postgres' && rows > 0 && rows % rowsPerVacuum === 0) await sql`vacuum visitor_activity`.execute(db)
    isComplete = (await readPosition(db)) === null
    if (isOver?.() === true) break
  }
  return { rows, isComplete }
}

/** For a process that only reads: throws UserError while keys of an older version are left. */
export async function requireActivityKeys(db: Db): Promise<void> {
  if ((await readPosition(db)) === null) return
  throw new UserError({
    what: 'cannot read the warehouse',
    why: 'the keys of its activity entries are from an older version, and are being rewritten or still have to be',
    next: 'run `deskmirror migrate`, which shows the progress',
    exitCode: 2,
  })
}

/** The next rows are of this visitor or a later one. `rereadProject`: the last project whose activity is to be read again. */
type Position = readonly [project: string, visitor: string, rereadProject: string | null]

type StoredEntry = {
  readonly project: string
  readonly visitor: string
  readonly older: string
  readonly ordinal: number
  readonly raw: string
}

type RenewedEntry = StoredEntry & { readonly key: string; readonly hasId: boolean }

/** Returns the number of rows of the batch. */
async function rewriteBatch(trx: Db, kind: DatabaseKind): Promise<number> {
  await acquireLock(trx, kind, 'deskmirror.rewrite')
  const position = await readPosition(trx)
  if (position === null) return 0
  if (kind === 'postgres') {
    await useKeyOnly(trx)
    const projects = new Set((await readEntries(trx, kind, position)).map(({ project }) => project))
    for (const project of projects) await acquireWriteLock(trx, kind, project)
  }
  const entries = (await readEntries(trx, kind, position)).map((entry) => renew(kind, entry))
  await storeKeys(trx, kind, entries)
  const rereadProject = await markFactsAndRereads(trx, kind, entries, position[2])
  const last = entries.at(-1)
  await (entries.length < rowsPerBatch || last === undefined
    ? sql`delete from sync_rewrites where name = ${rewriteName}`
    : sql`update sync_rewrites set position = ${JSON.stringify([last.project, last.visitor, rereadProject])}
        where name = ${rewriteName}`
  ).execute(trx)
  return entries.length
}

/**
 * Where its statistics are behind, Postgres would read and sort the whole table for each batch, or compile the query, as it
 * overestimates what a batch costs.
 */
async function useKeyOnly(trx: Db): Promise<void> {
  const methods = ['seqscan', 'bitmapscan', 'sort', 'incremental_sort', 'hashjoin', 'mergejoin']
  for (const setting of [...methods.map((method) => `enable_${method}`), 'jit'])
    await sql`set local ${sql.raw(setting)} = off`.execute(trx)
}

async function readPosition(db: Db): Promise<Position | null> {
  const { rows } = await sql<{ position: string }>`
    select position from sync_rewrites where name = ${rewriteName}`.execute(db)
  const [state] = rows
  if (state === undefined) return null
  return state.position === '' ? ['', '', null] : JSON.parse(state.position)
}

async function countRowsLeft(db: Db): Promise<number> {
  if ((await readPosition(db)) === null) return 0
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from visitor_activity where ${isOlder}`.execute(db)
  return Number(rows[0]?.count ?? 0)
}

async function readEntries(trx: Db, kind: DatabaseKind, [project, visitor]: Position): Promise<readonly StoredEntry[]> {
  const { rows } = await sql<StoredEntry>`
    select project_id as project, visitor_id as visitor, entry_hash as older, ordinal,
      ${kind === 'sqlite' ? sql`raw` : sql`raw::text as raw`} from visitor_activity
    where (project_id, visitor_id) >= (${project}, ${visitor}) and ${isOlder}
    order by project_id, visitor_id, entry_hash, ordinal limit ${rowsPerBatch}`.execute(trx)
  return rows.map((row) => ({ ...row, ordinal: Number(row.ordinal) }))
}

function renew(kind: DatabaseKind, entry: StoredEntry): RenewedEntry {
  const item = parseJson(decodeJson(kind, entry.raw))
  return { ...entry, key: renewActivityKey(item, occurredAt(item), entry.older), hasId: entryId(item) !== null }
}

const keyColumns = { project: 'text', visitor: 'text', key: 'text' } as const
type EntryKey = Pick<RenewedEntry, keyof typeof keyColumns>

/** Entries with the same key are numbered in the order that they had, after those that an earlier batch gave this key. */
async function storeKeys(trx: Db, kind: DatabaseKind, entries: readonly RenewedEntry[]): Promise<void> {
  if (entries.length === 0) return
  const nameOf = ({ project, visitor, key }: EntryKey) => JSON.stringify([project, visitor, key])
  const distinct = [...new Map(entries.map((entry) => [nameOf(entry), entry])).values()]
  const { rows } = await sql<EntryKey & { count: number }>`
    select listed.project, listed.visitor, listed.key, max(visitor_activity.ordinal) + 1 as count
    from ${rowsParameter(kind, keyColumns, distinct)} as listed join visitor_activity on project_id = listed.project
      and visitor_id = listed.visitor and entry_hash = listed.key
    group by listed.project, listed.visitor, listed.key`.execute(trx)
  const counts = new Map(rows.map((row) => [nameOf(row), Number(row.count)]))
  const numbered = entries.map((entry) => {
    const number = counts.get(nameOf(entry)) ?? 0
    counts.set(nameOf(entry), number + 1)
    return { ...entry, number }
  })
  const columns = { ...keyColumns, older: 'text', ordinal: 'integer', number: 'integer' } as const
  await sql`
    update visitor_activity set entry_hash = listed.key, ordinal = listed.number
    from ${rowsParameter(kind, columns, numbered)} as listed
    where project_id = listed.project and visitor_id = listed.visitor and entry_hash = listed.older
      and visitor_activity.ordinal = listed.ordinal`.execute(trx)
}

/**
 * Facts depend on the order of keys. Where an id occurred twice, entries may have overwritten each other: all activity of
 * that project is read again. Returns the last project for which this is requested.
 */
async function markFactsAndRereads(
  trx: Db,
  kind: DatabaseKind,
  entries: readonly RenewedEntry[],
  rereadProject: string | null,
) {
  let last = rereadProject
  for (const [project, ofProject] of Map.groupBy(entries, (entry) => entry.project)) {
    const context = createProjectDb(trx, kind, project)
    const withIds = ofProject.filter(({ hasId }) => hasId)
    await markFactsOfRows(context, 'visitor_activity', [...new Set(withIds.map(({ visitor }) => visitor))])
    if (project === last || !withIds.some(({ ordinal }) => ordinal > 0)) continue
    await requestFullRereads(context, 'visitor_activity', 'all', context.clock())
    last = project
  }
  return last
}
