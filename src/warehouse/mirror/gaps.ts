/** What is known to be missing. A gap is open once, whoever notices it again. */
import { sql } from 'kysely'
import type { Gap, StreamName } from '../../core/row.ts'
import { moment, rfc3339, type Seconds } from '../../core/time.ts'
import { newId } from '../database/identity.ts'
import type { Db } from '../database/session.ts'
import type { Context } from './context.ts'
import { identifyGap } from './gap-subject.ts'

export async function openGap(c: Context, trx: Db, gap: Gap, subject = identifyGap(gap)): Promise<void> {
  await trx
    .insertInto('sync_gaps')
    .values({
      project_id: c.project,
      id: newId(c.clock()),
      stream: gap.stream,
      from_ts: gap.from === null ? null : rfc3339(gap.from),
      to_ts: gap.to === null ? null : rfc3339(gap.to),
      reason: plainText(gap.reason),
      found_at: now(c),
      subject,
      seen_at: c.clock(),
    })
    .onConflict((conflict) =>
      conflict
        .columns(['project_id', 'stream', 'subject'])
        .where('resolved_at', 'is', null)
        .doUpdateSet((eb) => ({ reason: eb.ref('excluded.reason'), seen_at: eb.ref('excluded.seen_at') })),
    )
    .execute()
}

/** Reasons quote what came: bounded, and without what a database cannot hold. */
function plainText(text: string): string {
  return text.slice(0, 2000).toWellFormed().replaceAll('\0', '␀')
}

export async function closeGap(c: Context, trx: Db, stream: StreamName, subject: string): Promise<void> {
  await sql`
    update sync_gaps set resolved_at = ${now(c)}
    where project_id = ${c.project} and stream = ${stream} and subject = ${subject} and resolved_at is null`.execute(
    trx,
  )
}

/** Closes the gaps of a list that has been read whole since a moment, but for those met with again; a parent's close with its children. */
export async function resolveGaps(c: Context, stream: StreamName, since: number): Promise<number> {
  const { numUpdatedRows } = await c.db
    .updateTable('sync_gaps')
    .set({ resolved_at: now(c) })
    .where('project_id', '=', c.project)
    .where('stream', '=', stream)
    .where('resolved_at', 'is', null)
    .where('subject', 'not like', 'parent:%')
    .where((eb) => eb.or([eb('seen_at', 'is', null), eb('seen_at', '<', since)]))
    .executeTakeFirst()
  return Number(numUpdatedRows)
}

export async function openGaps(c: Context, stream: StreamName): Promise<Gap[]> {
  const rows = await c.db
    .selectFrom('sync_gaps')
    .select(['from_ts', 'to_ts', 'reason'])
    .where('project_id', '=', c.project)
    .where('stream', '=', stream)
    .where('resolved_at', 'is', null)
    .orderBy('from_ts')
    .orderBy('subject')
    .execute()
  return rows.map((row) => ({ stream, from: seconds(row.from_ts), to: seconds(row.to_ts), reason: row.reason }))
}

function seconds(text: string | null): Seconds | null {
  return moment(text) ?? null
}

function now(c: Context): string {
  return rfc3339(Math.floor(c.clock() / 1000))
}
