/**
 * The outcomes of reading the children of a parent: when they are due again, whether the messages
 * of a conversation are complete, and the gaps of the parent.
 */
import { sql } from 'kysely'
import { describeRejectedRow, type RejectedRow } from '../../../schema/row.ts'
import { isChildList } from '../../../schema/stream-specs.ts'
import type { EpochMs } from '../../values/time.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import {
  type ChildReadResult,
  type MirrorCommit,
  type UnlistedOutcome,
  untimedGap,
} from '../core/mirror.ts'
import { closeGaps, openGap, unlistedGapKey, unreadGapKey } from './gaps.ts'
import { ofParent, requestReread } from './pending-children.ts'
import { markFactsOfRows } from './pending-facts.ts'
import { settleUnlistedRows } from './unlisted-rows.ts'

/** The outcome for stored rows that a whole list did not show; null: the page is not of one. */
export async function settleChildRead(
  trx: ProjectDb,
  { stream, childRead, listed, requestedAt }: MirrorCommit,
  rejectedRows: readonly RejectedRow[],
  changed: number,
): Promise<UnlistedOutcome | null> {
  const read = childRead && addRejectedRows(childRead, rejectedRows)
  const isWhole =
    listed !== undefined && rejectedRows.length === 0 && read?.completeness !== 'incomplete'
  const unlisted =
    isWhole && isChildList(stream)
      ? await settleUnlistedRows(trx, stream, listed, requestedAt)
      : null
  if (read === undefined) return unlisted
  await recordChildRead(trx, withUnlisted(read, unlisted), requestedAt, changed > 0)
  const { toJoin = null } = read
  const isUnjoined = toJoin !== null && changed >= toJoin
  if (unlisted?.isToReread || isUnjoined)
    await requestReread(trx, stream, read.parentId, requestedAt)
  return isUnjoined ? { ...nothingUnlisted, isToReread: true } : unlisted
}

const nothingUnlisted: UnlistedOutcome = { marked: 0, isToReread: false, kept: 0, doubt: null }

/**
 * Messages that are missing at an end of their list, or too many, show that it may be cut there.
 */
function withUnlisted(read: ChildReadResult, unlisted: UnlistedOutcome | null): ChildReadResult {
  const kept = unlisted?.kept ?? 0
  if (read.stream !== 'messages' || kept === 0) return read
  const why =
    `${kept} of its mirrored messages are no longer listed, so the ` +
    'service may not list all of them'
  return { ...read, completeness: 'incomplete', why }
}

function addRejectedRows(
  childRead: ChildReadResult,
  rejectedRows: readonly RejectedRow[],
): ChildReadResult {
  if (rejectedRows.length === 0) return childRead
  const reasons = [
    ...(childRead.why === undefined ? [] : [childRead.why]),
    ...rejectedRows.map(describeRejectedRow),
  ]
  return { ...childRead, completeness: 'incomplete', why: [...new Set(reasons)].join('; ') }
}

/**
 * The parent becomes due again if it changed meanwhile, or at `dueAt`. `hasChanges`: a child is new
 * or has changed.
 */
async function recordChildRead(
  trx: ProjectDb,
  read: ChildReadResult,
  now: EpochMs,
  hasChanges: boolean,
) {
  const { stream, parentId, requestedVersion, dueAt, cursor, completeness } = read
  const { db, typed } = trx
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
    where ${ofParent(trx, stream, parentId)}`.execute(db)
  const listed = completeness === 'complete' ? [unlistedGapKey(parentId)] : []
  await closeGaps(trx, stream, [unreadGapKey(parentId), ...listed])
  if (marksFactsOfParent(read))
    await setMessagesComplete(trx, parentId, completeness === 'complete', hasChanges)
  if (completeness !== 'incomplete') return
  const reason = read.why ?? 'the service would not list all of them'
  await openGap(trx, untimedGap(stream, reason, unlistedGapKey(parentId)))
}

/** Recording the read of a child list marks the facts of its parent, so that its page need not. */
export function marksFactsOfParent({ stream, completeness }: ChildReadResult): boolean {
  return stream === 'messages' && completeness !== 'unchanged'
}

export async function setMessagesComplete(
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
