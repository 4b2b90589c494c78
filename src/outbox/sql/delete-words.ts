/**
 * Deletes the words of write-backs, their evidence and log. The row stays, with its `ref`, so that
 * what is imported again is known; the database refuses to send it again.
 */
import { type RawBuilder, sql } from 'kysely'
import type { ColumnRules } from '../../values/private-columns.ts'
import type { ProjectId } from '../../values/project.ts'
import { inList } from '../../warehouse/dialect.ts'
import { decodeJson, encodeJson } from '../../warehouse/escape.ts'
import { type ProjectDb, toTimeValue } from '../../warehouse/project-db.ts'
import { inDurableTransaction } from '../../warehouse/transactions.ts'
import { operations, operationTypes } from '../core/operations.ts'
import { asMirrored, hasPrivateFields, withoutPrivate } from '../core/private-fields.ts'
import { openStatuses } from '../core/state.ts'
import {
  decidedSql,
  decodeEvidence,
  encodeEvidence,
  operationSql,
  statusesSql,
  takeClaimSql,
} from './row.ts'

/** A correction of these has ended, and is never sent again. */
const endedSql = sql`operation = 'visitor' and status in ('succeeded','cancelled','expired')`

/**
 * Of ended corrections, whose fields the mirror does not store. While another one to the same
 * visitor is open, it may need to know them. Their log stays.
 */
export async function forgetEnded(context: ProjectDb, columns: ColumnRules): Promise<void> {
  if (!hasPrivateFields(columns)) return
  const isOpen = sql`exists (select 1 from writebacks other
    where other.project_id = writebacks.project_id
    and other.lane = writebacks.lane and other.status in (${statusesSql(openStatuses)}))`
  const isSqlite = context.kind === 'sqlite'
  if (isSqlite) await sql`pragma secure_delete = on`.execute(context.db)
  const forgotten = await inDurableTransaction(context, (trx) => {
    const among = sql`project_id = ${trx.project} and ${endedSql} and erased_at is null
      and not ${isOpen}`
    return clearWords(trx, among, { keepsLog: true })
  })
  // The log has what was there before. While others read it, it stays until the next time.
  if (isSqlite && forgotten > 0) await sql`pragma wal_checkpoint(truncate)`.execute(context.db)
}

/**
 * After a change of `columns`: words and log of corrections that are not open, as the service may
 * have repeated a value; also the log of those whose words are gone.
 */
export function forgetPrivate(context: ProjectDb, columns: ColumnRules): Promise<void> {
  if (!hasPrivateFields(columns)) return Promise.resolve()
  return inDurableTransaction(context, async (trx) => {
    const { db, kind, project } = trx
    await clearWords(
      trx,
      sql`project_id = ${project} and operation = 'visitor'
        and (erased_at is null or evidence is not null or error is not null or reason is not null)
        and status not in (${statusesSql(openStatuses)})`,
    )
    // By which address or name a row of a sheet was found.
    await sql`update writebacks set found_by = null
      where project_id = ${project} and found_by is not null`.execute(db)
    const { rows } = await sql<Record<'id' | 'snapshot' | 'evidence', string | null>>`
      select id, cast(target_snapshot as text) as snapshot, cast(evidence as text) as evidence
      from writebacks where project_id = ${project}
        and (target_snapshot is not null or evidence is not null)
        and ${operationSql(({ target }) => target === 'visitor')}`.execute(db)
    for (const { id, snapshot, evidence } of rows) {
      const { before, firstBefore, ...rest } = decodeEvidence(kind, evidence)
      const cleaned = {
        ...rest,
        ...(before && { before: withoutPrivate(columns, before) }),
        ...(firstBefore && { firstBefore: withoutPrivate(columns, firstBefore) }),
      }
      const shown =
        snapshot === null ? null : asMirrored(columns, JSON.parse(decodeJson(kind, snapshot)))
      await sql`update writebacks set
          target_snapshot = ${trx.typed('json', shown && encodeJson(kind, JSON.stringify(shown)))},
          evidence = ${evidence === null ? sql`evidence` : encodeEvidence(kind, cleaned)}
        where project_id = ${project} and id = ${id}`.execute(db)
    }
  })
}

/** `among`: the condition of the rows, in any project. Returns how many they are. */
export function deleteWords(context: ProjectDb, among: RawBuilder<unknown>): Promise<number> {
  return inDurableTransaction(context, (trx) => clearWords(trx, among))
}

const nobody = '00000000-0000-0000-0000-000000000000'

/** What has not left is cancelled, and no row names its target any more. */
export async function erase(trx: ProjectDb, among: RawBuilder<unknown>, by: string): Promise<void> {
  await sql`update writebacks set status = 'cancelled', finished_at = ${toTimeValue(trx)},
    ${takeClaimSql},
      due_at = null, stopped_by = null, ${decidedSql(trx, by)}
    where ${among} and status in ('draft','queued')`.execute(trx.db)
  const target = (column: string) =>
    sql`${sql.ref(column)} = case when ${sql.ref(column)} is not null then ${nobody} end`
  await clearWords(trx, among, {
    alsoSet: sql`, ${target('conversation_id')}, ${target('visitor_id')}, message_id = null`,
  })
}

/** `alsoSet`: further changes of these rows. `keepsLog`: only the words go. */
async function clearWords(
  trx: ProjectDb,
  among: RawBuilder<unknown>,
  { alsoSet = sql``, keepsLog = false }: { alsoSet?: RawBuilder<unknown>; keepsLog?: boolean } = {},
) {
  const ofLog = keepsLog ? sql`` : sql`, evidence = null, error = null, reason = null`
  const { rows } = await sql<{ project: ProjectId; id: string }>`
    update writebacks set erased_at = coalesce(erased_at, ${toTimeValue(trx)}),
    payload = ${emptyPayload(trx)}, target_snapshot = null,
      expect = null, found_by = null ${ofLog} ${alsoSet}
    where (project_id, id) in (select project_id, id from writebacks where ${among})
    returning project_id as project, id`.execute(trx.db)
  if (keepsLog) return rows.length
  for (const [project, own] of Map.groupBy(rows, (row) => row.project)) {
    const ids = own.map(({ id }) => id)
    await sql`delete from writeback_events where project_id = ${project}
      and writeback_id ${inList(trx.kind, ids)}`.execute(trx.db)
  }
  return rows.length
}

/** One that the constraints of the table allow. A flag says nothing about a person. */
function emptyPayload({ typed }: ProjectDb): RawBuilder<unknown> {
  const cases = operations.flatMap((operation) => {
    const texts = Object.entries(operationTypes[operation].fields).filter(
      ([, { kind }]) => kind !== 'flag',
    )
    const empty = texts.map(([name, { clearHelp }]) => [
      name,
      clearHelp === undefined ? 'deleted' : null,
    ])
    return texts.length === 0
      ? []
      : [sql`when ${operation} then ${typed('json', JSON.stringify(Object.fromEntries(empty)))}`]
  })
  return sql`case operation ${sql.join(cases, sql` `)} else payload end`
}
