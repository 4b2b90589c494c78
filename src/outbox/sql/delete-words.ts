/**
 * Deletes the words of write-backs, what their outcomes were concluded from, and their log. The row
 * stays, with its `ref`, so that what is imported again is still known; the database refuses to
 * send it again.
 */
import { type RawBuilder, sql } from 'kysely'
import type { ProjectId } from '../../values/project.ts'
import { inList } from '../../warehouse/dialect.ts'
import { type ProjectDb, toTimeValue } from '../../warehouse/project-db.ts'
import { inDurableTransaction } from '../../warehouse/transactions.ts'
import { operations, operationTypes } from '../core/operations.ts'
import { decidedSql, takeClaimSql } from './row.ts'

/** `among`: the condition of the rows, in any project. Returns how many they are. */
export function deleteWords(context: ProjectDb, among: RawBuilder<unknown>): Promise<number> {
  return inDurableTransaction(context, (trx) => clearWords(trx, among))
}

const nobody = '00000000-0000-0000-0000-000000000000'

/** What has not left is cancelled, and no row names its target any more. */
export async function erase(trx: ProjectDb, among: RawBuilder<unknown>, by: string): Promise<void> {
  await sql`update writebacks set status = 'cancelled', finished_at = ${toTimeValue(trx)}, ${takeClaimSql},
      due_at = null, stopped_by = null, ${decidedSql(trx, by)}
    where ${among} and status in ('draft','queued')`.execute(trx.db)
  const target = (column: string) =>
    sql`${sql.ref(column)} = case when ${sql.ref(column)} is not null then ${nobody} end`
  await clearWords(
    trx,
    among,
    sql`, ${target('conversation_id')}, ${target('visitor_id')}, message_id = null`,
  )
}

/** `alsoSet`: further changes of these rows. */
async function clearWords(
  trx: ProjectDb,
  among: RawBuilder<unknown>,
  alsoSet: RawBuilder<unknown> = sql``,
) {
  const { rows } = await sql<{ project: ProjectId; id: string }>`
    update writebacks set erased_at = ${toTimeValue(trx)}, payload = ${emptyPayload(trx)}, target_snapshot = null,
      evidence = null, error = null, reason = null, expect = null, found_by = null ${alsoSet}
    where (project_id, id) in (select project_id, id from writebacks where ${among})
    returning project_id as project, id`.execute(trx.db)
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
