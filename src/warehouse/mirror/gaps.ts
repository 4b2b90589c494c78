/** Gaps: data that is known to be missing. Each gap is open only once, however often it is found. */
import { hash } from 'node:crypto'
import { sql } from 'kysely'
import type { Gap } from '../../core/row.ts'
import type { StreamName } from '../../core/stream-specs.ts'
import { type EpochSeconds, parseTime, rfc3339, toTimestamp } from '../../core/time.ts'
import type { Db } from '../database/connection-pool.ts'
import { newId } from '../database/new-id.ts'
import type { ProjectContext } from './project-context.ts'

/** Gaps with the same subject are the same gap. */
function gapSubject({ from, to, reason, subject }: Gap): string {
  if (subject !== undefined) return subject
  if (from === null && to === null) return `reason:${indexableText(reason)}`
  if (from !== null && from === to) return `second:${rfc3339(from)}`
  return `span:${from === null ? '' : rfc3339(from)}/${to === null ? '' : rfc3339(to)}`
}

/** A text as part of a key: hashed if it is too long for an index, or may not be storable. */
export function indexableText(text: string): string {
  return text.length <= 200 && /^[\x20-\x7e]*$/.test(text) ? text : hash('sha256', text)
}

export async function openGap(context: ProjectContext, trx: Db, gap: Gap, subject = gapSubject(gap)): Promise<void> {
  await trx
    .insertInto('sync_gaps')
    .values({
      project_id: context.project,
      id: newId(context.clock()),
      stream: gap.stream,
      from_ts: gap.from === null ? null : rfc3339(gap.from),
      to_ts: gap.to === null ? null : rfc3339(gap.to),
      reason: storableReason(gap.reason),
      found_at: nowTimestamp(context),
      subject,
      seen_at: context.clock(),
    })
    .onConflict((conflict) =>
      conflict
        .columns(['project_id', 'stream', 'subject'])
        .where('resolved_at', 'is', null)
        .doUpdateSet((eb) => ({ reason: eb.ref('excluded.reason'), seen_at: eb.ref('excluded.seen_at') })),
    )
    .execute()
}

/** Reasons quote values of the service, so they are shortened and stripped of what databases cannot store. */
function storableReason(text: string): string {
  return text.slice(0, 2000).toWellFormed().replaceAll('\0', '␀')
}

export async function closeGap(context: ProjectContext, trx: Db, stream: StreamName, subject: string): Promise<void> {
  await sql`
    update sync_gaps set resolved_at = ${nowTimestamp(context)}
    where project_id = ${context.project} and stream = ${stream} and subject = ${subject} and resolved_at is null`.execute(
    trx,
  )
}

/** Closes gaps that a complete read since `since` did not find again, except those of parents. */
export async function resolveGaps(context: ProjectContext, stream: StreamName, since: number): Promise<number> {
  const { numUpdatedRows } = await context.db
    .updateTable('sync_gaps')
    .set({ resolved_at: nowTimestamp(context) })
    .where((eb) => eb.and({ project_id: context.project, stream }))
    .where('resolved_at', 'is', null)
    .where('subject', 'not like', 'parent:%')
    .where((eb) => eb.or([eb('seen_at', 'is', null), eb('seen_at', '<', since)]))
    .executeTakeFirst()
  return Number(numUpdatedRows)
}

export async function listOpenGaps(context: ProjectContext, stream: StreamName): Promise<Gap[]> {
  const rows = await context.db
    .selectFrom('sync_gaps')
    .select(['from_ts', 'to_ts', 'reason'])
    .where((eb) => eb.and({ project_id: context.project, stream }))
    .where('resolved_at', 'is', null)
    .orderBy('from_ts')
    .orderBy('subject')
    .execute()
  return rows.map((row) => ({ stream, from: toSeconds(row.from_ts), to: toSeconds(row.to_ts), reason: row.reason }))
}

function toSeconds(text: string | null): EpochSeconds | null {
  return parseTime(text) ?? null
}

function nowTimestamp(context: ProjectContext): string {
  return toTimestamp(context.clock())
}
