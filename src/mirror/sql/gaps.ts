/** Data that is known to be missing. Each gap is open only once, however often it is found. */
import { hash } from 'node:crypto'
import { sql } from 'kysely'
import type { Gap } from '../../../schema/row.ts'
import type { StreamName } from '../../../schema/stream-specs.ts'
import { type EpochMs, parseTime, rfc3339, toTimestamp } from '../../values/time.ts'
import { inList } from '../../warehouse/dialect.ts'
import { newId, type ProjectDb } from '../../warehouse/project-db.ts'
import { massDeletionGapKey, unlistedRowsGapKey } from '../core/mirror.ts'

/** Gaps with the same key are the same gap. */
function dedupKeyOf({ from, to, reason, dedupKey }: Gap): string {
  if (dedupKey !== undefined) return dedupKey
  if (from === null && to === null) return `reason:${indexableText(reason)}`
  const [first, last] = [from, to].map((at) => (at === null ? '' : rfc3339(at)))
  return from === to ? `second:${first}` : `span:${first}/${last}`
}

/** A text as part of a key: hashed if it is too long for an index, or may not be storable. */
function indexableText(text: string): string {
  return text.length <= 200 && /^[\x20-\x7e]*$/.test(text) ? text : hash('sha256', text)
}

export async function openGap(trx: ProjectDb, gap: Gap): Promise<void> {
  const now = trx.clock()
  const [from_ts, to_ts] = [gap.from, gap.to].map((at) => (at === null ? null : rfc3339(at)))
  // Reasons quote the service: they are shortened and stripped of what databases cannot store.
  const reason = gap.reason.slice(0, 2000).toWellFormed().replaceAll('\0', '␀')
  const row = {
    project_id: trx.project,
    id: newId(now),
    stream: gap.stream,
    from_ts,
    to_ts,
    reason,
  }
  await trx.db
    .insertInto('sync_gaps')
    .values({ ...row, dedup_key: dedupKeyOf(gap), found_at: toTimestamp(now), seen_at: now })
    .onConflict((conflict) =>
      conflict
        .columns(['project_id', 'stream', 'dedup_key'])
        .where('resolved_at', 'is', null)
        .doUpdateSet((eb) => ({
          // Found again, it may be wider. An end that is null has no limit.
          from_ts: sql<string | null>`case
            when sync_gaps.from_ts <= excluded.from_ts then sync_gaps.from_ts
            when sync_gaps.from_ts > excluded.from_ts then excluded.from_ts end`,
          to_ts: sql<string | null>`case
            when sync_gaps.to_ts >= excluded.to_ts then sync_gaps.to_ts
            when sync_gaps.to_ts < excluded.to_ts then excluded.to_ts end`,
          reason: eb.ref('excluded.reason'),
          seen_at: eb.ref('excluded.seen_at'),
        })),
    )
    .execute()
}

export async function closeGaps(
  trx: ProjectDb,
  stream: StreamName,
  dedupKeys: readonly string[],
): Promise<void> {
  const { db, kind, project, clock } = trx
  if (dedupKeys.length === 0) return
  await sql`
    update sync_gaps set resolved_at = ${toTimestamp(clock())}
    where project_id = ${project} and stream = ${stream} and dedup_key ${inList(kind, dedupKeys)}
      and resolved_at is null`.execute(db)
}

/** Why that gap is open; null = it is not. */
export async function readGapReason({ db, project }: ProjectDb, stream: StreamName, key: string) {
  const { rows } = await sql<{ reason: string }>`
    select reason from sync_gaps
    where project_id = ${project} and stream = ${stream} and dedup_key = ${key}
    and resolved_at is null`.execute(db)
  return rows[0]?.reason ?? null
}

/** Closes those about pages that a complete read since `since` did not find again. */
export async function resolveGaps(
  { db, project, clock }: ProjectDb,
  stream: StreamName,
  since: EpochMs,
) {
  const { numAffectedRows } = await sql`
    update sync_gaps set resolved_at = ${toTimestamp(clock())}
    where project_id = ${project} and stream = ${stream} and resolved_at is null
      and dedup_key not like 'parent:%'
      and dedup_key not in (${massDeletionGapKey}, ${unlistedRowsGapKey})
      and seen_at < ${since}`.execute(db)
  return Number(numAffectedRows)
}

export async function listOpenGaps({ db, project }: ProjectDb, stream: StreamName): Promise<Gap[]> {
  const { rows } = await sql<{
    from_ts: string | null
    to_ts: string | null
    reason: string
    dedupKey: string
  }>`
    select from_ts, to_ts, reason, dedup_key as "dedupKey" from sync_gaps
    where project_id = ${project} and stream = ${stream} and resolved_at is null
    order by from_ts, dedup_key`.execute(db)
  return rows.map(({ from_ts, to_ts, reason, dedupKey }) => {
    return {
      stream,
      from: parseTime(from_ts) ?? null,
      to: parseTime(to_ts) ?? null,
      reason,
      dedupKey,
    }
  })
}

/** The gap of a parent whose list does not contain all rows. */
export const unlistedGapKey = (parentId: string) => `parent:${parentId}`
/** The gap of a parent whose list could not be read. */
export const unreadGapKey = (parentId: string) => `parent:${parentId}:unread`
/** The gap of a row that could not be stored. */
export const rowGapKey = (id: string) => `row:${indexableText(id)}`
