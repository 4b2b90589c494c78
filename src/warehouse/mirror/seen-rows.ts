/** Seen rows: the ids that a scan of a whole list has returned, to find the mirrored rows that it has not. */
import { sql } from 'kysely'
import { type ListStreamName, streamSpecs } from '../../core/stream-specs.ts'
import type { Db } from '../database/connection-pool.ts'
import { listParameter, typedParameter } from '../database/dialect.ts'
import type { ProjectContext } from './project-context.ts'

type RowScope = 'all' | 'open'

export async function addSeenRows(
  context: ProjectContext,
  trx: Db,
  seenRowsKey: string,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return
  await sql`
    insert into sync_census (project_id, census, id)
    select ${typedParameter(context.kind, 'text', context.project)}, ${typedParameter(context.kind, 'text', seenRowsKey)}, listed.value
    from ${listParameter(context.kind, ids)} as listed where true on conflict do nothing`.execute(trx)
}

/** Ids of the set, in id order. */
export async function listSeenRows(
  context: ProjectContext,
  seenRowsKey: string,
  limit: number,
): Promise<readonly string[]> {
  const rows = await context.db
    .selectFrom('sync_census')
    .select('id')
    .where((eb) => eb.and({ project_id: context.project, census: seenRowsKey }))
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}

export async function removeSeenRows(
  context: ProjectContext,
  trx: Db,
  seenRowsKey: string,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return
  await sql`
    delete from sync_census where project_id = ${context.project} and census = ${seenRowsKey}
      and id in (select value from ${listParameter(context.kind, ids)} as listed)`.execute(trx)
}

export async function listUnseenRows(
  context: ProjectContext,
  stream: ListStreamName,
  seenRowsKey: string,
  scope: RowScope,
  after: string | null,
  limit: number,
) {
  const from = after === null ? sql`` : sql`and row.id > ${after}`
  const { rows } = await sql<{ id: string }>`
    select row.id from ${sql.table(streamSpecs[stream].table)} as row
    where ${inScope(context, scope)} ${from} and ${notSeen(context, seenRowsKey)} order by row.id limit ${limit}`.execute(
    context.db,
  )
  return rows.map(({ id }) => id)
}

export async function countUnseenRows(
  context: ProjectContext,
  stream: ListStreamName,
  seenRowsKey: string,
  scope: RowScope,
) {
  const { rows } = await sql<{ unseen: number; living: number }>`
    select count(*) as living, count(case when ${notSeen(context, seenRowsKey)} then 1 end) as unseen
    from ${sql.table(streamSpecs[stream].table)} as row where ${inScope(context, scope)}`.execute(context.db)
  return { unseen: rows[0]?.unseen ?? 0, living: rows[0]?.living ?? 0 }
}

export async function forgetSeenRows(context: ProjectContext, seenRowsKey: string): Promise<void> {
  await context.db
    .deleteFrom('sync_census')
    .where((eb) => eb.and({ project_id: context.project, census: seenRowsKey }))
    .execute()
}

function inScope(context: ProjectContext, scope: RowScope) {
  const open = scope === 'open' ? sql`and row.handled_at is null` : sql``
  return sql`row.project_id = ${context.project} and row.deleted_at is null ${open}`
}

function notSeen(context: ProjectContext, seenRowsKey: string) {
  return sql`not exists (select 1 from sync_census as seen
    where seen.project_id = ${context.project} and seen.census = ${seenRowsKey} and seen.id = row.id)`
}
