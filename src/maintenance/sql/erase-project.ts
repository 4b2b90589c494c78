/**
 * Erases all that is stored of a project: the rows of every table that names its project, some
 * thousand at a time. What says how far its lists were read goes first, so that a killed erasure
 * leaves a mirror that is read anew, and none with holes; sending is stopped from the beginning to
 * the end. That it has begun is in `erased_ids`, and what is left says where the next run goes on.
 */
import { sql } from 'kysely'
import { erasedTables } from '../../../schema/mirror-tables.ts'
import { hasProject } from '../../../schema/moved-tables.ts'
import { listStreamNames, streamSpecs } from '../../../schema/stream-specs.ts'
import { type TableSpec, tables } from '../../../schema/tables.ts'
import { removeSearchEntries } from '../../analytics/sql/search-index.ts'
import { createOutbox } from '../../outbox/sql/outbox.ts'
import { toTimestamp } from '../../values/time.ts'
import { UserError } from '../../values/user-error.ts'
import { appendEvent } from '../../warehouse/audit-log.ts'
import { findMove, readMoves } from '../../warehouse/moves.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import {
  inDurableTransaction,
  inTransaction,
  retryOnDeadlock,
} from '../../warehouse/transactions.ts'
import { createValueCollector } from '../core/erased-values.ts'
import { countParts, type Erased, type ErasedRows, ofVisitors } from './erase.ts'
import { withoutTriggers } from './move-rows.ts'

/**
 * Of the tables that are not erased like all others. `kept`: who holds the streams now, and where
 * the project has moved. `kept while configured`: a project that is read anew must neither send
 * again what it sent before a backup that is restored some day, nor mirror people again who were
 * erased. `guarded`: its triggers refuse to lose rows, or count each one. `first`: how far lists
 * were read, since when changes were watched, and from what facts were derived. What is pending, or
 * missing, of a row stays as long as the row: one that a killed erasure has left is not new to the
 * next sync. `late`: by it, that sync knows which facts and words there are. `last`: it holds the
 * stop of sending.
 */
const roles: Readonly<
  Partial<
    Record<
      keyof typeof tables,
      'kept' | 'kept while configured' | 'guarded' | 'first' | 'late' | 'last'
    >
  >
> = {
  sync_locks: 'kept',
  sync_moves: 'kept',
  sync_sends: 'kept while configured',
  erased_ids: 'kept while configured',
  writebacks: 'guarded',
  writeback_events: 'guarded',
  console_events: 'guarded',
  sync_cursors: 'first',
  sync_streams: 'first',
  sync_seen_rows: 'first',
  sync_runs: 'first',
  facts_state: 'first',
  fct_conversation: 'late',
  sync_projects: 'last',
}
const roleOf = (table: string) => roles[table as keyof typeof tables]

export const keptWhileConfigured: readonly string[] = Object.keys(roles).filter(
  (table) => roleOf(table) === 'kept while configured',
)

export type ProjectErasure = {
  /** Whether the next sync reads it anew. */
  readonly isConfigured: boolean
  readonly by: string
  readonly signal: AbortSignal
  readonly onProgress: (progress: TableProgress) => void
}

/** `done`, `left`: rows of all tables. */
export type TableProgress = { readonly table: string; readonly done: number; readonly left: number }

/** More would take minutes to look for. */
const maxValues = 20_000

function tablesOf({ isConfigured }: Pick<ProjectErasure, 'isConfigured'>) {
  const kept: readonly unknown[] = isConfigured ? ['kept', 'kept while configured'] : ['kept']
  return Object.entries<TableSpec>(tables)
    .filter(
      ([name, spec]) =>
        spec.storedIn === undefined && hasProject(spec) && !kept.includes(roleOf(name)),
    )
    .sort(([one], [other]) => orderOf(one) - orderOf(other))
}

/** An address in what visitors wrote is theirs as well, so they are the first to be known. */
function orderOf(table: string): number {
  if (roleOf(table) === 'last') return 4
  if (roleOf(table) === 'late') return 3
  if (roleOf(table) === 'first') return 0
  return ofVisitors.includes(table) ? 1 : 2
}

export function countProjectRows(
  context: Pick<ProjectDb, 'db' | 'project'>,
  erasure: Pick<ProjectErasure, 'isConfigured'>,
): Promise<ErasedRows> {
  const parts = tablesOf(erasure).map(([table]) => ({ table, where: sql`true` }))
  return countParts(context, parts)
}

/** Those that are not settled, by status: they are never sent, and nobody learns their outcome. */
export async function countOpenWritebacks({ db, project }: ProjectDb): Promise<ErasedRows> {
  const { rows } = await sql<{ status: string; rows: number }>`
    select status, count(*) as rows from writebacks where project_id = ${project}
    and status in ('draft','queued','sending','uncertain') group by status order by status`.execute(
    db,
  )
  return Object.fromEntries(rows.map(({ status, rows: count }) => [status, Number(count)]))
}

/** Null: it was never erased. */
export async function readProjectErasure({ db, project }: Pick<ProjectDb, 'db' | 'project'>) {
  const { rows } = await sql<{ searched_at: string | null }>`select searched_at from erased_ids
    where project_id = '' and id = ${project}`.execute(db)
  const [mark] = rows
  return mark === undefined ? null : { isFinished: mark.searched_at !== null }
}

/**
 * Needs the locks of the project's streams. Throws UserError if a process is sending one of its
 * write-backs, and `signal.reason`; the next run goes on.
 */
export async function eraseProject(context: ProjectDb, erasure: ProjectErasure): Promise<Erased> {
  const { db, kind } = context
  const { signal, onProgress } = erasure
  if (kind === 'sqlite') await sql`pragma secure_delete = on`.execute(db)
  const isMoved = await hasMoved(context)
  const before = await countProjectRows(context, erasure)
  const isRepeated = (await readProjectErasure(context)) !== null
  const total = Object.values(before).reduce((sum, count) => sum + count, 0)
  await begin(context, erasure, { isMoved, total })
  const collector = createValueCollector(context.project, maxValues)
  const rows: Record<string, number> = {}
  let done = 0
  for (const table of tablesOf(erasure))
    for (let more = true; more; ) {
      signal.throwIfAborted()
      const [name] = table
      const count = await retryOnDeadlock(() =>
        inTransaction(context, (trx) =>
          withoutTriggers(trx, isMoved || roleOf(name) === 'guarded' ? [name] : [], () =>
            deleteSome(trx, table, collector),
          ),
        ),
      )
      more = count > 0
      if (!more) continue
      rows[name] = (rows[name] ?? 0) + count
      done += count
      onProgress({ table: name, done, left: Math.max(0, total - done) })
    }
  const changed = [...tablesOf(erasure).map(([name]) => name), 'search_words']
  return { rows, isRepeated, values: collector.result(), tables: changed }
}

/** Then the database refuses changes of it; not where only other projects have moved. */
const hasMoved = async ({ db, project }: ProjectDb) =>
  findMove(await readMoves(db), project) !== undefined

async function begin(
  context: ProjectDb,
  { by }: ProjectErasure,
  { isMoved, total }: { readonly isMoved: boolean; readonly total: number },
): Promise<void> {
  // What has moved away is not sent here.
  if (!isMoved) await stopSending(context, by)
  const changed = isMoved ? ['erased_ids', 'console_events', 'sync_children'] : []
  await inDurableTransaction(context, (trx) =>
    withoutTriggers(trx, changed, async () => {
      const { db, project } = trx
      await sql`insert into erased_ids (project_id, id) values ('', ${project})
        on conflict (project_id, id) do update set searched_at = null`.execute(db)
      // A sync after a kill reads lists whole, as rows that it had read are gone.
      await sql`update sync_children set cursor = null where project_id = ${project}`.execute(db)
      const what = { action: 'project_erased', subject: project, count: total }
      const who = { project: '', person: by, role: 'approver', detail: 'by the command line' }
      await appendEvent(db, { ...who, ...what }, trx.clock())
    }),
  )
}

/** From then on nothing is claimed or sent; what is being sent now must be settled first. */
async function stopSending(context: ProjectDb, by: string): Promise<void> {
  const outbox = createOutbox(context)
  const hasStopped = await outbox.decideSending('stop_all', { by })
  const claim = await outbox.findLiveClaim(Date.now())
  if (claim === null) return
  if (hasStopped) await outbox.decideSending('resume_all', { by })
  throw new UserError({
    what: 'nothing was erased',
    why: `a process is sending the write-back ${claim.id}, or was until two minutes ago`,
    next: 'stop it, or wait for it to end, and run the same command again',
    exitCode: 1,
  })
}

/** Files and statistics have been cleaned and searched. */
export async function finishProjectErasure(context: ProjectDb): Promise<void> {
  const { project, clock } = context
  const isMoved = await hasMoved(context)
  await inTransaction(context, (trx) =>
    withoutTriggers(trx, isMoved ? ['erased_ids'] : [], async () => {
      await sql`update erased_ids set searched_at = ${toTimestamp(clock())}
        where project_id = '' and id = ${project}`.execute(trx.db)
    }),
  )
}

/** Of rows that are read, which may be large, and of others. */
const rowsPerStep = { read: 500, unread: 5000 } as const

/** Returns how many rows were deleted. */
async function deleteSome(
  trx: ProjectDb,
  [table, spec]: ReturnType<typeof tablesOf>[number],
  collector: ReturnType<typeof createValueCollector>,
): Promise<number> {
  const { db, kind, project } = trx
  if (table === 'search_conversations') return deleteSearched(trx)
  const isRead = (table in erasedTables || table === 'writebacks') && !collector.isFull()
  // Postgres finds rows by their place, however it plans the rest.
  const key = kind === 'postgres' ? ['ctid'] : spec.key
  const names = sql.join(key.map((name) => sql.ref(name)))
  const some = sql`select ${names} from ${sql.table(table)} where project_id = ${project}
    limit ${sql.lit(isRead ? rowsPerStep.read : rowsPerStep.unread)}`
  const isOne = kind === 'postgres' ? sql`ctid = any(array(${some}))` : sql`(${names}) in (${some})`
  const deletion = sql<Readonly<Record<string, unknown>>>`delete from ${sql.table(table)}
    where ${isOne} ${isRead ? sql`returning *` : sql``}`
  const { rows, numAffectedRows } = await deletion.execute(db)
  const isList = listStreamNames.some((name) => streamSpecs[name].table === table)
  for (const row of rows) {
    if (isList) collector.addId(String(row.id))
    collector.addRow(row, ofVisitors.includes(table))
  }
  return isRead ? rows.length : Number(numAffectedRows ?? 0n)
}

async function deleteSearched(trx: ProjectDb): Promise<number> {
  const { rows } = await sql<{ id: string }>`select conversation_id as id from search_conversations
    where project_id = ${trx.project} limit ${sql.lit(rowsPerStep.read)}`.execute(trx.db)
  const ids = rows.map(({ id }) => id)
  await removeSearchEntries(trx, ids)
  return ids.length
}
