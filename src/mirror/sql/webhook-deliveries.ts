/** Webhook deliveries: each is stored once, stays pending until it has been processed, and is deleted later. */
import { sql } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import { listStreamNames } from '../../../schema/stream-specs.ts'
import { idIdentity } from '../../service/core/path-segment.ts'
import type { ProjectId } from '../../values/project.ts'
import { type EpochMs, type Ms, toTimestamp } from '../../values/time.ts'
import type { Db } from '../../warehouse/connection-pool.ts'
import { inList } from '../../warehouse/dialect.ts'
import { decodeText, encodeText } from '../../warehouse/escape.ts'
import type { MirroredRow } from '../core/webhook-reference.ts'
import { fromRowsWithIds } from './stored-ids.ts'

/** `id`: hash of the body's bytes. `body`: as text. `attempts`: including this one. */
export type WebhookDelivery = { readonly id: string; readonly body: string; readonly attempts: number }

/** The same bytes count as a duplicate for this long. Later they are a new event that happens to look the same. */
export const duplicateWindowMs: Ms = 5 * 60_000

/** How long a process keeps claimed deliveries; then others may claim them. Processing one twice does no harm. */
const leaseMs: Ms = 60_000

/** Per project. A body has up to 64 KiB: at worst 320 MB of pending and 1.3 GB of done deliveries. */
export const maxPendingDeliveries = 5000
export const maxDoneDeliveries = 20_000

export function createDeliveries(db: Db, kind: DatabaseKind) {
  return {
    /** Whether the project has as many pending deliveries as it may have. */
    isFull: async (project: ProjectId): Promise<boolean> => {
      const { rows } = await sql`
        select 1 from webhook_deliveries where project_id = ${project} and due_at is not null
        limit 1 offset ${maxPendingDeliveries - 1}`.execute(db)
      return rows.length > 0
    },
    /** False: it was already stored. */
    store: async (
      project: ProjectId,
      { id, body, bytes }: { readonly id: string; readonly body: string; readonly bytes: number },
      now: EpochMs,
    ): Promise<boolean> => {
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
    },
    /** Claims deliveries that are due, oldest first. */
    claim: async (project: ProjectId, now: EpochMs, limit: number): Promise<WebhookDelivery[]> => {
      // The condition stands outside the subquery too: Postgres checks it again for a row that another process has just
      // claimed.
      const { rows } = await sql<WebhookDelivery>`
        update webhook_deliveries set due_at = ${now + leaseMs}, attempts = attempts + 1
        where project_id = ${project} and due_at <= ${now} and id in (
          select id from webhook_deliveries
          where project_id = ${project} and due_at is not null and due_at <= ${now} order by due_at limit ${limit})
        returning id, body, attempts`.execute(db)
      return rows.map((row) => ({ ...row, body: decodeText(row.body) }))
    },
    /** Marks it done. `found`: what was read because of it, for people. */
    settle: async (project: ProjectId, id: string, found: string, now: EpochMs) => {
      await sql`
        update webhook_deliveries set due_at = null, taken_at = ${toTimestamp(now)}, found = ${found}
        where project_id = ${project} and id = ${id}`.execute(db)
    },
    /** They are due again at `until`. */
    postpone: async (project: ProjectId, ids: readonly string[], until: EpochMs) => {
      await sql`
        update webhook_deliveries set due_at = ${until}
        where project_id = ${project} and id ${inList(kind, ids)}`.execute(db)
    },
    /** One due delivery of each project that has any. */
    firstDuePerProject: async (now: EpochMs) => {
      const { rows } = await sql<{ project: ProjectId; id: string }>`
        select project_id as project, min(id) as id from webhook_deliveries
        where due_at is not null and due_at <= ${now} group by project_id`.execute(db)
      return rows
    },
    deleteOlderThan: async (olderThan: EpochMs): Promise<number> => {
      const { numAffectedRows } = await sql`
        delete from webhook_deliveries where received_at < ${toTimestamp(olderThan)}`.execute(db)
      return Number(numAffectedRows)
    },
    /** Deletes the oldest done deliveries of projects that have more than `maxDoneDeliveries`. */
    trimDone: async (): Promise<number> => {
      const { numAffectedRows } = await sql`
        delete from webhook_deliveries where (project_id, id) in (
          select project_id, id from (
            select project_id, id, row_number() over (partition by project_id order by received_at desc, id) as place
            from webhook_deliveries where due_at is null) as done
          where place > ${maxDoneDeliveries})`.execute(db)
      return Number(numAffectedRows)
    },
    /** The mirrored rows with these ids, by the identity of their ids; unknown ids are missing. */
    locateRows: async (project: ProjectId, ids: readonly string[]): Promise<ReadonlyMap<string, MirroredRow>> => {
      const parts = listStreamNames.map(
        (stream) =>
          sql`select id, cast(${stream} as text) as "table" ${fromRowsWithIds({ kind, project }, stream, ids)}`,
      )
      const { rows } = await sql<MirroredRow>`${sql.join(parts, sql` union all `)}`.execute(db)
      return new Map(rows.map((row) => [idIdentity(row.id), row]))
    },
  }
}
