/** Webhook deliveries: each is stored once, stays pending until it has been processed, and is deleted later. */
import { sql } from 'kysely'
import type { DatabaseKind } from '../../schema/column-types.ts'
import { type ListStreamName, listStreamNames, streamSpecs } from '../core/stream-specs.ts'
import { type EpochMs, type Ms, toTimestamp } from '../core/time.ts'
import type { Db } from './database/connection-pool.ts'
import { inList } from './database/dialect.ts'
import { decodeText, encodeText } from './database/escape.ts'

/** `id`: hash of the body's bytes. `body`: as text. `attempts`: including this one. */
export type WebhookDelivery = { readonly id: string; readonly body: string; readonly attempts: number }

/** The same bytes count as a duplicate for this long. Later they are a new event that happens to look the same. */
export const duplicateWindowMs: Ms = 5 * 60_000

/** How long a process keeps claimed deliveries; then others may claim them. Processing one twice does no harm. */
const leaseMs: Ms = 60_000

/** Per project. A body has up to 64 KiB: at worst 320 MB of pending and 1.3 GB of done deliveries. */
export const maxPendingDeliveries = 5000
export const maxDoneDeliveries = 20_000

export type DeliveryRepository = ReturnType<typeof createDeliveries>

export function createDeliveries(db: Db, kind: DatabaseKind) {
  return {
    /** Whether the project has as many pending deliveries as it may have. */
    isFull: async (project: string): Promise<boolean> => {
      const pending = db.selectFrom('webhook_deliveries').select('id').where('project_id', '=', project)
      const beyond = pending
        .where('due_at', 'is not', null)
        .offset(maxPendingDeliveries - 1)
        .limit(1)
      return (await beyond.execute()).length > 0
    },
    /** False: it was already stored. */
    store: (project: string, delivery: { id: string; body: string; bytes: number }, now: EpochMs) =>
      store(db, kind, project, delivery, now),
    /** Claims deliveries that are due, oldest first. */
    claim: (project: string, now: EpochMs, limit: number) => claim(db, project, now, limit),
    /** Marks it done. `found`: what was read because of it, for people. */
    settle: async (project: string, id: string, found: string, now: EpochMs) => {
      await updateDeliveries(project, [id])
        .set({ due_at: null, taken_at: toTimestamp(now), found })
        .execute()
    },
    /** They are due again at `until`. */
    postpone: async (project: string, ids: readonly string[], until: EpochMs) => {
      if (ids.length > 0) await updateDeliveries(project, ids).set({ due_at: until }).execute()
    },
    /** One due delivery of each project that has any. */
    firstDuePerProject: async (now: EpochMs): Promise<readonly { readonly project: string; readonly id: string }[]> => {
      const all = db.selectFrom('webhook_deliveries').where('due_at', 'is not', null).where('due_at', '<=', now)
      const rows = await all
        .select(['project_id', (eb) => eb.fn.min('id').as('id')])
        .groupBy('project_id')
        .execute()
      return rows.map((row) => ({ project: row.project_id, id: row.id }))
    },
    deleteOlderThan: async (olderThan: EpochMs): Promise<number> => {
      const query = db.deleteFrom('webhook_deliveries').where('received_at', '<', toTimestamp(olderThan))
      return Number((await query.executeTakeFirst()).numDeletedRows)
    },
    /** Deletes the oldest done deliveries of projects that have more than `maxDoneDeliveries`. */
    trimDone: () => trimDone(db, kind),
    /** Which mirrored table has each of these ids; unknown ids are missing. */
    findKinds: (project: string, ids: readonly string[]) => findKinds(db, kind, project, ids),
  }

  function updateDeliveries(project: string, ids: readonly string[]) {
    return db.updateTable('webhook_deliveries').where('project_id', '=', project).where('id', 'in', ids)
  }
}

async function store(
  db: Db,
  kind: DatabaseKind,
  project: string,
  { id, body, bytes }: { id: string; body: string; bytes: number },
  now: EpochMs,
): Promise<boolean> {
  const newState = { received_at: toTimestamp(now), due_at: now, attempts: 0, taken_at: null, found: null }
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('webhook_deliveries')
    .values({ project_id: project, id, bytes, body: encodeText(kind, body), ...newState })
    .onConflict((conflict) =>
      conflict
        .columns(['project_id', 'id'])
        .doUpdateSet(newState)
        .where('webhook_deliveries.due_at', 'is', null)
        .where('webhook_deliveries.received_at', '<', toTimestamp(now - duplicateWindowMs)),
    )
    .executeTakeFirst()
  return (numInsertedOrUpdatedRows ?? 0n) > 0n
}

async function trimDone(db: Db, kind: DatabaseKind): Promise<number> {
  const { rows } = await sql<{ project: string }>`
    select project_id as project from webhook_deliveries where due_at is null
    group by project_id having count(*) > ${maxDoneDeliveries}`.execute(db)
  let deleted = 0
  for (const { project } of rows) {
    const done = db
      .selectFrom('webhook_deliveries')
      .select('id')
      .where('project_id', '=', project)
      .where('due_at', 'is', null)
    const exceeding = done.orderBy('received_at', 'desc').orderBy('id').offset(maxDoneDeliveries)
    // SQLite has no offset without a limit.
    const old = kind === 'sqlite' ? exceeding.limit(-1) : exceeding
    const { numDeletedRows } = await db
      .deleteFrom('webhook_deliveries')
      .where('project_id', '=', project)
      .where('id', 'in', old)
      .executeTakeFirst()
    deleted += Number(numDeletedRows)
  }
  return deleted
}

async function claim(db: Db, project: string, now: EpochMs, limit: number): Promise<WebhookDelivery[]> {
  // The condition stands outside the subquery too: Postgres checks it again for a row that another process has just
  // claimed.
  const rows = await db
    .updateTable('webhook_deliveries')
    .set((eb) => ({ due_at: now + leaseMs, attempts: eb('attempts', '+', 1) }))
    .where('project_id', '=', project)
    .where('due_at', '<=', now)
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('webhook_deliveries')
        .select('id')
        .where('project_id', '=', project)
        .where('due_at', 'is not', null)
        .where('due_at', '<=', now)
        .orderBy('due_at')
        .limit(limit),
    )
    .returning(['id', 'body', 'attempts'])
    .execute()
  return rows.map((row) => ({ ...row, body: decodeText(row.body) }))
}

async function findKinds(
  db: Db,
  kind: DatabaseKind,
  project: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ListStreamName>> {
  const parts = listStreamNames.map(
    (stream) => sql`select id, cast(${stream} as text) as "kind" from ${sql.table(streamSpecs[stream].table)}
      where project_id = ${project} and id ${inList(kind, ids)}`,
  )
  const { rows } = await sql<{ id: string; kind: ListStreamName }>`${sql.join(parts, sql` union all `)}`.execute(db)
  return new Map(rows.map((row) => [row.id, row.kind]))
}
