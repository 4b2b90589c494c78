/** Audits: what they drew, what they found, and how far they are. Implements the core's port `AuditStore` in SQL. */
import { sql } from 'kysely'
import { streamSpecs } from '../../../schema/stream-specs.ts'
import type { ProjectId } from '../../values/project.ts'
import { type EpochMs, toTimestamp } from '../../values/time.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import { acquireLock, batchesOf } from '../../warehouse/dialect.ts'
import { encodeJson } from '../../warehouse/escape.ts'
import { newId } from '../../warehouse/new-id.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import type { AuditedStream, AuditResult } from '../core/audit.ts'
import type {
  AuditRow,
  AuditRowResult,
  AuditRowState,
  AuditStore,
  OpenAudit,
  OpenRowState,
  SeenDifference,
} from '../core/audit-store.ts'
import type { Difference } from '../core/reports.ts'

export function createAuditStore(context: ProjectDb): AuditStore {
  const { db, project } = context
  return {
    readOpen: (stream) => readOpenAudit(context, db, stream),
    listIds: (stream, after, limit) => listIds(context, stream, after, limit),
    start: (stream, sample, now) => db.transaction().execute((trx) => startAudit(context, trx, stream, sample, now)),
    listRows: (audit, state, limit) => listRows(context, audit, state, limit),
    settle: (audit, from, results) => db.transaction().execute((trx) => settleRows(context, trx, audit, from, results)),
    addWork: async ({ id }, { requests, tookMs }) => {
      await db
        .updateTable('sync_audits')
        .set((eb) => ({ requests: eb('requests', '+', requests), took_ms: eb('took_ms', '+', tookMs) }))
        .where((eb) => eb.and({ project_id: project, id }))
        .execute()
    },
    markSynced: async ({ id }, now) => {
      const set = db.updateTable('sync_audits').set({ synced_at: toTimestamp(now) })
      await set.where((eb) => eb.and({ project_id: project, id })).execute()
    },
    finish: (audit, now) => db.transaction().execute((trx) => finishAudit(context, trx, audit, now)),
    listCorrected: (stream) => listCorrected(context, stream),
    listDifferences: (audits) => listDifferences(context, audits),
    listFinished: (since) => listFinishedAudits(context, since),
  }
}

async function readOpenAudit({ project }: ProjectDb, db: Db, stream: AuditedStream): Promise<OpenAudit | null> {
  const row = await db
    .selectFrom('sync_audits')
    .select(['id', 'started_at', 'synced_at', 'drawn'])
    .where((eb) => eb.and({ project_id: project, stream }))
    .where('finished_at', 'is', null)
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
  if (row === undefined) return null
  const { id, drawn } = row
  return { id, stream, drawn, startedAt: Date.parse(row.started_at), isSynced: row.synced_at !== null }
}

async function listIds({ db, project }: ProjectDb, stream: AuditedStream, after: string | null, limit: number) {
  const from = after === null ? sql`` : sql`and id > ${after}`
  const { rows } = await sql<{ id: string }>`
    select id from ${sql.table(streamSpecs[stream].table)}
    where project_id = ${project} ${from} order by id limit ${limit}`.execute(db)
  return rows.map(({ id }) => id)
}

async function startAudit(
  context: ProjectDb,
  trx: Db,
  stream: AuditedStream,
  { population, ids }: { readonly population: number; readonly ids: readonly string[] },
  now: EpochMs,
): Promise<OpenAudit> {
  const { kind, project } = context
  await acquireLock(trx, kind, `deskmirror.audit ${project}`)
  const open = await readOpenAudit(context, trx, stream)
  if (open !== null) return open
  const id = newId(now)
  const counts = { compared: 0, differing: 0, gone: 0, unreadable: 0, requests: 0, took_ms: 0 }
  const times = { started_at: toTimestamp(now), finished_at: null, synced_at: null }
  const audit = { project_id: project, id, stream, population, drawn: ids.length, ...counts, ...times }
  await trx.insertInto('sync_audits').values(audit).execute()
  const rows = ids.map((row, position) => ({
    project_id: project,
    audit_id: id,
    row_id: row,
    position,
    state: 'drawn',
    differences: null,
  }))
  for (const batch of batchesOf(rows, 500))
    await trx
      .insertInto('sync_audit_rows')
      .values([...batch])
      .execute()
  return { id, stream, drawn: ids.length, startedAt: now, isSynced: false }
}

async function listRows(
  { db, project }: ProjectDb,
  audit: OpenAudit,
  state: AuditRowState,
  limit: number,
): Promise<readonly AuditRow[]> {
  const rows = await db
    .selectFrom('sync_audit_rows')
    .select(['row_id', 'differences'])
    .where((eb) => eb.and({ project_id: project, audit_id: audit.id, state }))
    .orderBy('position')
    .limit(limit)
    .execute()
  return rows.map(({ row_id: id, differences }) => ({ id, differences: toDifferences(differences) }))
}

/** As many as show whether they had to be corrected in vain. */
const maxCorrected = 200

async function listCorrected({ db, project }: ProjectDb, stream: AuditedStream): Promise<readonly AuditRow[]> {
  const { rows } = await sql<{ id: string; differences: unknown }>`
    select row_id as id, differences from sync_audit_rows as audited
    join sync_audits as audit on audit.project_id = audited.project_id and audit.id = audited.audit_id
    where audit.project_id = ${project} and audit.stream = ${stream} and audit.finished_at is not null
    order by audit.id desc, audited.position limit ${maxCorrected}`.execute(db)
  return rows.map(({ id, differences }) => ({ id, differences: toDifferences(differences) }))
}

async function listDifferences({ db, project }: ProjectDb, audits: readonly string[]): Promise<readonly Difference[]> {
  if (audits.length === 0) return []
  const rows = await db
    .selectFrom('sync_audit_rows')
    .select('differences')
    .where('project_id', '=', project)
    .where('audit_id', 'in', audits)
    .orderBy('audit_id')
    .orderBy('position')
    .execute()
  return rows
    .flatMap(({ differences }) => toDifferences(differences))
    .map(({ stream, key, kind, fields }) => ({ stream, key, kind, fields }))
}

/** SQLite returns the text, Postgres the value. */
function toDifferences(stored: unknown): readonly SeenDifference[] {
  if (stored === null) return []
  return (typeof stored === 'string' ? JSON.parse(stored) : stored) as readonly SeenDifference[]
}

async function settleRows(
  { kind, project, typed }: ProjectDb,
  trx: Db,
  audit: OpenAudit,
  from: OpenRowState,
  results: readonly AuditRowResult[],
) {
  for (const { id, state, differences } of results) {
    const json = differences.length === 0 ? null : encodeJson(kind, JSON.stringify(differences))
    await sql`
      update sync_audit_rows set state = ${state}, differences = ${typed('json', json)}
      where project_id = ${project} and audit_id = ${audit.id} and row_id = ${id} and state = ${from}`.execute(trx)
  }
}

async function finishAudit(context: ProjectDb, trx: Db, { id }: OpenAudit, now: EpochMs): Promise<AuditResult> {
  const { project } = context
  const { rows } = await sql<{ state: AuditRowState; count: number }>`
    select state, count(*) as count from sync_audit_rows
    where project_id = ${project} and audit_id = ${id} group by state`.execute(trx)
  const count = (...states: AuditRowState[]) =>
    rows.reduce((sum, row) => (states.includes(row.state) ? sum + row.count : sum), 0)
  const { numUpdatedRows } = await trx
    .updateTable('sync_audits')
    .set({
      finished_at: toTimestamp(now),
      compared: count('equal', ...differingStates),
      differing: count(...differingStates),
      gone: count('gone'),
      unreadable: count('unreadable'),
    })
    .where((eb) => eb.and({ project_id: project, id }))
    // Another process that has finished it has deleted the rows that were equal.
    .where('finished_at', 'is', null)
    .executeTakeFirst()
  if (numUpdatedRows > 0n)
    await sql`
      delete from sync_audit_rows
      where project_id = ${project} and audit_id = ${id} and state not in (${sql.join(differingStates)})`.execute(trx)
  const [result] = await selectFinished(trx, project, sql`id = ${id}`)
  if (result === undefined) throw new Error(`the audit ${id} is missing`)
  return result
}

const differingStates: readonly AuditRowState[] = ['differing', 'confirmed', 'suspected']

/** Of all projects. */
export async function deleteAudits(db: Db, before: EpochMs): Promise<void> {
  const isOld = sql`finished_at < ${toTimestamp(before)}`
  await sql`
    delete from sync_audit_rows where exists (
      select 1 from sync_audits as audit
      where audit.project_id = sync_audit_rows.project_id and audit.id = audit_id and ${isOld})`.execute(db)
  await sql`delete from sync_audits where ${isOld}`.execute(db)
}

export async function listFinishedAudits({ db, project }: ProjectDb, since: EpochMs): Promise<readonly AuditResult[]> {
  return selectFinished(db, project, sql`finished_at >= ${toTimestamp(since)}`)
}

async function selectFinished(
  db: Db,
  project: ProjectId,
  where: ReturnType<typeof sql>,
): Promise<readonly AuditResult[]> {
  const { rows } = await sql<AuditResult>`
    select id, stream, started_at as "startedAt", finished_at as "finishedAt", population, drawn, compared, differing, gone,
      unreadable, requests, took_ms as "tookMs"
    from sync_audits where project_id = ${project} and ${where} and finished_at is not null order by id`.execute(db)
  return rows
}
