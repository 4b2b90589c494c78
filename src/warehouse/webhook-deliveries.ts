/** Webhook deliveries: stored once, due until somebody has looked after them, forgotten later. */
import { sql } from 'kysely'
import type { DatabaseKind } from '../../schema/column-types.ts'
import type { ReferencedTable } from '../core/webhook-reference.ts'
import { type EpochMs, type Ms, toTimestamp } from '../core/time.ts'
import { listParameter } from './database/dialect.ts'
import { decodeText, encodeText } from './database/escape.ts'
import type { Db } from './database/connection-pool.ts'

/** `id` names the bytes of the body. `body`: as text. `attempts`: this one included. */
export type WebhookDelivery = { readonly id: string; readonly body: string; readonly attempts: number }

/** The same bytes count as a repetition for so long; later they are news again, as an event may look like the one before. */
export const duplicateWindowMs: Ms = 5 * 60_000

/** Whoever takes deliveries has them for so long; if it dies, they are due again. Taking one twice does no harm. */
const leaseMs: Ms = 60_000

/** Of one project. One body may have 64 KiB: at the worst 320 MB, and 1.3 GB of what is done. */
export const maxPendingDeliveries = 5000
export const maxDoneDeliveries = 20_000

export type DeliveryRepository = ReturnType<typeof createDeliveries>

export function createDeliveries(db: Db, kind: DatabaseKind) {
  return {
    /** Whether as many wait to be looked after as may. */
    isFull: async (project: string): Promise<boolean> => {
      const pending = db.selectFrom('webhook_deliveries').select('id').where('project_id', '=', project)
      const beyond = pending
        .where('due_at', 'is not', null)
        .offset(maxPendingDeliveries - 1)
        .limit(1)
      return (await beyond.execute()).length > 0
    },
    /** False: it was here already. */
    store: (project: string, delivery: { id: string; body: string; bytes: number }, now: EpochMs) =>
      store(db, kind, project, delivery, now),
    /** Takes those that are due, oldest first. */
    claim: (project: string, now: EpochMs, limit: number) => claim(db, project, now, limit),
    /** They are done. `found`: what was read, for a person. */
    settle: async (project: string, id: string, found: string, now: EpochMs) => {
      await updateDeliveries(project, [id])
        .set({ due_at: null, taken_at: toTimestamp(now), found })
        .execute()
    },
    /** Not now: they are due again at `until`. */
    postpone: async (project: string, ids: readonly string[], until: EpochMs) => {
      if (ids.length > 0) await updateDeliveries(project, ids).set({ due_at: until }).execute()
    },
    /** One delivery of each project that has some that are due. */
    firstDuePerProject: async (now: EpochMs): Promise<readonly { readonly project: string; readonly id: string }[]> => {
      const all = db.selectFrom('webhook_deliveries').where('due_at', 'is not', null).where('due_at', '<=', now)
      const rows = await all
        .select(['project_id', (eb) => eb.fn.min('id').as('id')])
        .groupBy('project_id')
        .execute()
      return rows.map((row) => ({ project: row.project_id, id: row.id }))
    },
    deleteOlderThan: async (olderThan: EpochMs): Promise<number> => {
      const gone = db.deleteFrom('webhook_deliveries').where('received_at', '<', toTimestamp(olderThan))
      return Number((await gone.executeTakeFirst()).numDeletedRows)
    },
    /** Forgets those of each project that are done, but for the latest. */
    trimDone: () => trimDone(db, kind),
    /** What the mirror knows of these ids: in which table each of them is. */
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
  let gone = 0
  for (const { project } of rows) {
    const done = db
      .selectFrom('webhook_deliveries')
      .select('id')
      .where('project_id', '=', project)
      .where('due_at', 'is', null)
    const latestLast = done.orderBy('received_at', 'desc').orderBy('id').offset(maxDoneDeliveries)
    // SQLite knows no offset without a limit.
    const old = kind === 'sqlite' ? latestLast.limit(-1) : latestLast
    const { numDeletedRows } = await db
      .deleteFrom('webhook_deliveries')
      .where('project_id', '=', project)
      .where('id', 'in', old)
      .executeTakeFirst()
    gone += Number(numDeletedRows)
  }
  return gone
}

async function claim(db: Db, project: string, now: EpochMs, limit: number): Promise<WebhookDelivery[]> {
  // Asked for twice: in Postgres a row that another process has claimed meanwhile is looked at once more.
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
): Promise<ReadonlyMap<string, ReferencedTable>> {
  const tables = ['conversations', 'visitors', 'calls'] as const
  const parts = tables.map(
    (table) => sql`select id, cast(${table} as text) as "kind" from ${sql.table(table)}
      where project_id = ${project} and id in (select value from ${listParameter(kind, ids)} as listed)`,
  )
  const { rows } = await sql<{ id: string; kind: ReferencedTable }>`${sql.join(parts, sql` union all `)}`.execute(db)
  return new Map(rows.map((row) => [row.id, row.kind]))
}
