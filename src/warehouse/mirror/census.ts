/** What a walk through a whole list has seen, and so what it has not. */
import { sql } from 'kysely'
import { bound, each } from '../database/dialect.ts'
import type { Db } from '../database/session.ts'
import type { Context } from './context.ts'

type Counted = 'conversations' | 'visitors' | 'calls'
type Where = 'all' | 'open'

export async function noteSeen(c: Context, trx: Db, census: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await sql`
    insert into sync_census (project_id, census, id)
    select ${bound(c.kind, 'text', c.project)}, ${bound(c.kind, 'text', census)}, listed.value
    from ${each(c.kind, ids)} as listed where true on conflict do nothing`.execute(trx)
}

/** Ids of a census, in their order. */
export async function seenIn(c: Context, census: string, limit: number): Promise<readonly string[]> {
  const rows = await c.db
    .selectFrom('sync_census')
    .select('id')
    .where('project_id', '=', c.project)
    .where('census', '=', census)
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}

export async function removeSeen(c: Context, trx: Db, census: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await sql`
    delete from sync_census where project_id = ${c.project} and census = ${census}
      and id in (select value from ${each(c.kind, ids)} as listed)`.execute(trx)
}

export async function unseen(
  c: Context,
  of: Counted,
  census: string,
  where: Where,
  after: string | null,
  limit: number,
) {
  const from = after === null ? sql`` : sql`and row.id > ${after}`
  const { rows } = await sql<{ id: string }>`
    select row.id from ${sql.table(of)} as row
    where ${living(c, where)} ${from} and ${notSeen(c, census)} order by row.id limit ${limit}`.execute(c.db)
  return rows.map(({ id }) => id)
}

export async function countUnseen(c: Context, of: Counted, census: string, where: Where) {
  const { rows } = await sql<{ unseen: number; living: number }>`
    select count(*) as living, count(case when ${notSeen(c, census)} then 1 end) as unseen
    from ${sql.table(of)} as row where ${living(c, where)}`.execute(c.db)
  return { unseen: rows[0]?.unseen ?? 0, living: rows[0]?.living ?? 0 }
}

export async function forgetCensus(c: Context, census: string): Promise<void> {
  await c.db.deleteFrom('sync_census').where('project_id', '=', c.project).where('census', '=', census).execute()
}

function living(c: Context, where: Where) {
  const open = where === 'open' ? sql`and row.handled_at is null` : sql``
  return sql`row.project_id = ${c.project} and row.deleted_at is null ${open}`
}

function notSeen(c: Context, census: string) {
  return sql`not exists (select 1 from sync_census as seen
    where seen.project_id = ${c.project} and seen.census = ${census} and seen.id = row.id)`
}
