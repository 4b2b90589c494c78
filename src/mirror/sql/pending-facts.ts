/**
 * What is to be derived again because rows of the mirror changed: recorded in the transaction that
 * changes them, so none is missed, and derived later, many at a time.
 */
import { sql } from 'kysely'
import {
  childStreamsOf,
  type FactKind,
  factKinds,
  type StreamName,
  streamSpecs,
} from '../../../schema/stream-specs.ts'
import { inList, listParameter } from '../../warehouse/dialect.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'

/** `keys`: the first part of each one's key. Within the transaction that changes the rows. */
export async function markFactsOfRows(
  trx: ProjectDb,
  stream: StreamName,
  keys: readonly string[],
): Promise<void> {
  const kind = streamSpecs[stream].facts
  if (kind === null || keys.length === 0) return
  // Times are RFC 3339 text in UTC: the hour's first second.
  const isTime = kind === 'availability_hour'
  await markPendingFacts(
    trx,
    kind,
    isTime ? keys.map((time) => `${time.slice(0, 13)}:00:00Z`) : keys,
  )
}

/** Rows of a list were deleted with their children, or restored. */
export async function markFactsOfParents(
  trx: ProjectDb,
  stream: StreamName,
  ids: readonly string[],
): Promise<void> {
  const kinds = new Set(childStreamsOf(stream).flatMap((child) => streamSpecs[child].facts ?? []))
  for (const kind of kinds) await markPendingFacts(trx, kind, ids)
}

async function markPendingFacts(
  trx: ProjectDb,
  kind: FactKind,
  ids: readonly string[],
): Promise<void> {
  const { db, kind: database, project, typed } = trx
  await sql`
    insert into facts_due (project_id, kind, id)
    select ${typed('text', project)}, ${typed('text', kind)}, due.value
    from ${listParameter(database, [...new Set(ids)])} as due where true
    on conflict do nothing`.execute(db)
}

/** A kind of which facts are pending; null = none are. */
export async function findPendingKind({ db, project }: ProjectDb): Promise<FactKind | null> {
  const { rows } = await sql<{ kind: FactKind }>`
    select kind from facts_due where project_id = ${project} and kind in (${sql.join(factKinds)})
    limit 1`.execute(db)
  return rows[0]?.kind ?? null
}

/** Ids of that kind in their order, up to `limit`. */
export async function listPendingFacts(
  { db, project }: ProjectDb,
  kind: FactKind,
  limit: number,
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from facts_due where project_id = ${project} and kind = ${kind}
    order by id limit ${limit}`.execute(db)
  return rows.map(({ id }) => id)
}

/** They have been derived. Under the project's write lock, so none was marked in between. */
export async function removePendingFacts(
  trx: ProjectDb,
  kind: FactKind,
  ids: readonly string[],
): Promise<void> {
  const { db, kind: database, project } = trx
  const isDerived = sql`project_id = ${project} and kind = ${kind} and id ${inList(database, ids)}`
  await sql`delete from facts_due where ${isDerived}`.execute(db)
}
