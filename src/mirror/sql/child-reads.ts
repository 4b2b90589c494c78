/**
 * The outcomes of reading the children of a parent: when they are due again, whether the messages of
 * a conversation are complete, and the gaps of the parent.
 */
import { sql } from 'kysely'
import type { ChildStreamName } from '../../../schema/stream-specs.ts'
import type { EpochMs } from '../../values/time.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import type { ChildReadResult } from '../core/mirror.ts'
import { closeGaps, openGap } from './gaps.ts'
import { markFactsOfRows } from './pending-facts.ts'

/** The gap of a parent whose list does not contain all rows. */
export const unlistedGapKey = (parentId: string) => `parent:${parentId}`
/** The gap of a parent whose list could not be read. */
const unreadGapKey = (parentId: string) => `parent:${parentId}:unread`

/**
 * The parent becomes due again if it changed meanwhile, or at `dueAt`. `hasChanges`: a child is new
 * or has changed.
 */
export async function recordChildRead(
  trx: ProjectDb,
  read: ChildReadResult,
  now: EpochMs,
  hasChanges: boolean,
) {
  const { stream, parentId, requestedVersion, dueAt, cursor, completeness } = read
  const { db, project, typed } = trx
  const version = typed('integer', requestedVersion)
  await sql`
    update sync_children set
      read_version = case when read_version > ${version} then read_version else ${version} end,
      due_at = case when requested_version > ${version} then coalesce(due_at, ${now})
        else ${typed('integer', dueAt)} end,
      attempts = 0, error = null, reread_whole = null, checked_at = ${now},
      cursor = ${typed('text', cursor)},
      full_read_at = coalesce(${typed('integer', completeness === 'unchanged' ? null : now)},
      full_read_at),
      listed_rows = coalesce(${typed('integer', read.listedRows ?? null)}, listed_rows)
    where project_id = ${project} and stream = ${stream} and parent_id = ${parentId}`.execute(db)
  const listed = completeness === 'complete' ? [unlistedGapKey(parentId)] : []
  await closeGaps(trx, stream, [unreadGapKey(parentId), ...listed])
  if (marksFactsOfParent(read))
    await setMessagesComplete(trx, parentId, completeness === 'complete', hasChanges)
  if (completeness !== 'incomplete') return
  const reason = read.why ?? 'the service would not list all of them'
  await openGap(trx, { stream, from: null, to: null, reason }, unlistedGapKey(parentId))
}

/** Messages of a conversation that was taken for complete are missing. */
export async function recordIncomplete(
  trx: ProjectDb,
  conversation: string,
  reason: string,
): Promise<void> {
  await setMessagesComplete(trx, conversation, false, false)
  await openGap(
    trx,
    { stream: 'messages', from: null, to: null, reason },
    unlistedGapKey(conversation),
  )
}

/** Recording the read of a child list marks the facts of its parent, so that its page need not. */
export function marksFactsOfParent({ stream, completeness }: ChildReadResult): boolean {
  return stream === 'messages' && completeness !== 'unchanged'
}

async function setMessagesComplete(
  trx: ProjectDb,
  conversation: string,
  complete: boolean,
  hasChanges: boolean,
) {
  const flag = trx.kind === 'sqlite' ? Number(complete) : complete
  const { rows } = await sql`
    update conversations set messages_complete = ${flag}
    where project_id = ${trx.project} and id = ${conversation} and messages_complete is distinct
    from ${flag}
    returning id`.execute(trx.db)
  if (hasChanges || rows.length > 0) await markFactsOfRows(trx, 'conversations', [conversation])
}

export async function recordChildFailure(
  trx: ProjectDb,
  stream: ChildStreamName,
  parentId: string,
  why: string,
  dueAt: EpochMs,
): Promise<void> {
  await sql`
    update sync_children set attempts = attempts + 1, due_at = ${dueAt}, error = ${why}
    where project_id = ${trx.project} and stream = ${stream} and parent_id = ${parentId}`.execute(
    trx.db,
  )
  await openGap(trx, { stream, from: null, to: null, reason: why }, unreadGapKey(parentId))
}

/** The service no longer has the parent, so its children are no longer pending. */
export async function removePendingChildren(
  trx: ProjectDb,
  stream: ChildStreamName,
  parentId: string,
): Promise<void> {
  await sql`
    delete from sync_children
    where project_id = ${trx.project} and stream = ${stream} and parent_id = ${parentId}`.execute(
    trx.db,
  )
  await closeGaps(trx, stream, [unlistedGapKey(parentId), unreadGapKey(parentId)])
}
