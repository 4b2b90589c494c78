/** Audits: what they drew, what they found, and how far they are. */
import { type RawBuilder, sql } from 'kysely'
import { streamSpecs } from '../../../schema/stream-specs.ts'
import type { ProjectId } from '../../values/project.ts'
import { type EpochMs, type Ms, toTimestamp } from '../../values/time.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import { acquireLock, batchesOf } from '../../warehouse/dialect.ts'
import { encodeJson } from '../../warehouse/escape.ts'
import { newId, ofProject, type ProjectDb } from '../../warehouse/project-db.ts'
import type {
  AuditedStream,
  AuditResult,
  AuditRow,
  AuditRowResult,
  AuditRowState,
  Difference,
  OpenAudit,
  OpenRowState,
  SeenDifference,
} from '../core/audit.ts'

export type AuditStore = ReturnType<typeof createAuditStore>

export function createAuditStore(context: ProjectDb) {
  return ofProject(context, {
    readOpen,
    listIds,
    start,
    listRows,
    settle,
    addWork,
    markSynced,
    finish,
    listCorrected,
    listDifferences,
    listFinished: listFinishedAudits,
  })
}

async function readOpen({ db, project }: ProjectDb, stream: AuditedStream): Promise<OpenAudit | null> {
  const { rows } = await sql<{ id: string; drawn: number; startedAt: string; syncedAt: string | null }>`
    select id, drawn, started_at as "startedAt", synced_at as "syncedAt" from sync_audits
    where project_id = ${project} and stream = ${stream} and finished_at is null order by id limit 1`.execute(db)
  const [audit] = rows
  if (audit === undefined) return null
  const { id, drawn, startedAt, syncedAt } = audit
  return { id, stream, drawn, startedAt: Date.parse(startedAt), isSynced: syncedAt !== null }
}

/** Ids of rows after one, in order, those marked as deleted included. */
async function listIds({ db, project }: ProjectDb, stream: AuditedStream, after: string | null, limit: number) {
  const from = after === null ? sql`` : sql`and id > ${after}`
  const { rows } = await sql<{ id: string }>`
    select id from ${sql.table(streamSpecs[stream].table)}
    where project_id = ${project} ${from} order by id limit ${limit}`.execute(db)
  return rows.map(({ id }) => id)
}

/** If another process has begun one meanwhile: that one. */
function start(
  context: ProjectDb,
  stream: AuditedStream,
  { population, ids }: { readonly population: number; readonly ids: readonly string[] },
  now: EpochMs,
): Promise<OpenAudit> {
  const { kind, project } = context
  return context.db.transaction().execute(async (db) => {
    await acquireLock(db, kind, `deskmirror.audit ${project}`)
    const open = await readOpen({ ...context, db }, stream)
    if (open !== null) return open
    const id = newId(now)
    const counts = { compared: 0, differing: 0, gone: 0, unreadable: 0, requests: 0, took_ms: 0 }
    const times = { started_at: toTimestamp(now), finished_at: null, synced_at: null }
    const audit = { project_id: project, id, stream, population, drawn: ids.length, ...counts, ...times }
    await db.insertInto('sync_audits').values(audit).execute()
    const drawn = { project_id: project, audit_id: id, state: 'drawn', differences: null }
    const rows = ids.map((row_id, position) => ({ ...drawn, row_id, position }))
    for (const batch of batchesOf(rows, 500)) await db.insertInto('sync_audit_rows').values(batch).execute()
    return { id, stream, drawn: ids.length, startedAt: now, isSynced: false }
  })
}

/** In the order in which they were drawn. */
async function listRows({ db, project }: ProjectDb, audit: OpenAudit, state: AuditRowState, limit: number) {
  const isInState = sql`project_id = ${project} and audit_id = ${audit.id} and state = ${state}`
  return selectRows(db, sql`sync_audit_rows where ${isInState} order by position limit ${limit}`)
}

async function selectRows(db: Db, from: RawBuilder<unknown>): Promise<readonly AuditRow[]> {
  // SQLite returns the text, Postgres the value.
  type Stored = { readonly id: string; readonly differences: string | readonly SeenDifference[] | null }
  const { rows } = await sql<Stored>`select row_id as id, differences from ${from}`.execute(db)
  return rows.map(({ id, differences: stored }) => {
    return { id, differences: typeof stored === 'string' ? JSON.parse(stored) : (stored ?? []) }
  })
}

/** As many as show whether they had to be corrected in vain. */
const maxCorrected = 200

/** Rows that finished audits of the stream found to differ, the latest audits first. */
async function listCorrected({ db, project }: ProjectDb, stream: AuditedStream): Promise<readonly AuditRow[]> {
  const ofFinished = sql`sync_audit_rows as audited
    join sync_audits as audit on audit.project_id = audited.project_id and audit.id = audited.audit_id
    where audit.project_id = ${project} and audit.stream = ${stream} and audit.finished_at is not null
    order by audit.id desc, audited.position limit ${maxCorrected}`
  return selectRows(db, ofFinished)
}

/** What differed in these audits. */
async function listDifferences({ db, project }: ProjectDb, audits: readonly string[]): Promise<readonly Difference[]> {
  if (audits.length === 0) return []
  const isOfAudits = sql`project_id = ${project} and audit_id in (${sql.join(audits)})`
  const rows = await selectRows(db, sql`sync_audit_rows where ${isOfAudits} order by audit_id, position`)
  const all = rows.flatMap(({ differences }) => differences)
  return all.map(({ stream, key, kind, fields }) => ({ stream, key, kind, fields }))
}

/** Rows in the state `from`: those that another process has settled meanwhile stay as they are. */
function settle(context: ProjectDb, audit: OpenAudit, from: OpenRowState, results: readonly AuditRowResult[]) {
  const { db, kind, project, typed } = context
  return db.transaction().execute(async (trx) => {
    for (const { id, state, differences } of results) {
      const json = differences.length === 0 ? null : encodeJson(kind, JSON.stringify(differences))
      await sql`
        update sync_audit_rows set state = ${state}, differences = ${typed('json', json)}
        where project_id = ${project} and audit_id = ${audit.id} and row_id = ${id} and state = ${from}`.execute(trx)
    }
  })
}

async function addWork({ db, project }: ProjectDb, { id }: OpenAudit, requests: number, tookMs: Ms): Promise<void> {
  await sql`
    update sync_audits set requests = requests + ${requests}, took_ms = took_ms + ${tookMs}
    where project_id = ${project} and id = ${id}`.execute(db)
}

async function markSynced({ db, project }: ProjectDb, { id }: OpenAudit, now: EpochMs): Promise<void> {
  await sql`
    update sync_audits set synced_at = ${toTimestamp(now)} where project_id = ${project} and id = ${id}`.execute(db)
}

const differingStates: readonly AuditRowState[] = ['differing', 'confirmed', 'suspected']

/**
 * A row that is still suspected or not corrected counts as differing, one that is still drawn not at all. Keeps only those
 * that differed. The result of an audit that another process has finished stays.
 */
function finish({ db, project }: ProjectDb, { id }: OpenAudit, now: EpochMs): Promise<AuditResult> {
  return db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ state: AuditRowState; count: number }>`
      select state, count(*) as count from sync_audit_rows
      where project_id = ${project} and audit_id = ${id} group by state`.execute(trx)
    const count = (...states: AuditRowState[]) =>
      rows.reduce((sum, row) => (states.includes(row.state) ? sum + row.count : sum), 0)
    const differing = count(...differingStates)
    // Another process that has finished it has deleted the rows that were equal.
    const { numAffectedRows } = await sql`
      update sync_audits set finished_at = ${toTimestamp(now)}, compared = ${count('equal') + differing},
        differing = ${differing}, gone = ${count('gone')}, unreadable = ${count('unreadable')}
      where project_id = ${project} and id = ${id} and finished_at is null`.execute(trx)
    if (numAffectedRows !== undefined && numAffectedRows > 0n)
      await sql`
        delete from sync_audit_rows
        where project_id = ${project} and audit_id = ${id} and state not in (${sql.join(differingStates)})`.execute(trx)
    const [result] = await selectFinished(trx, project, sql`id = ${id}`)
    if (result === undefined) throw new Error(`the audit ${id} is missing`)
    return result
  })
}

/** Of all streams, oldest first. */
export async function listFinishedAudits({ db, project }: ProjectDb, since: EpochMs): Promise<readonly AuditResult[]> {
  return selectFinished(db, project, sql`finished_at >= ${toTimestamp(since)}`)
}

async function selectFinished(db: Db, project: ProjectId, where: ReturnType<typeof sql>) {
  const { rows } = await sql<AuditResult>`
    select id, stream, started_at as "startedAt", finished_at as "finishedAt", population, drawn, compared, differing, gone,
      unreadable, requests, took_ms as "tookMs"
    from sync_audits where project_id = ${project} and ${where} and finished_at is not null order by id`.execute(db)
  return rows
}
