/**
 * What the triggers of write-backs do on both databases, whoever changes a row: they give it place,
 * lane and batch, write the log, keep what may have left, and reset what only deskmirror may set.
 * An approval is of what was shown: a write-back that is changed waits for another one.
 */
import type { DatabaseKind } from './column-types.ts'
import { inList, operationsOn } from './operation-specs.ts'
import { commonColumns } from './outbox-tables.ts'

/** Columns that only deskmirror may set. */
export const counters = ['attempts', 'fencing_token']
export const outcome =
  'owner lease_until sent_at finished_at request_id error evidence message_id postponed revoked_as erased_at'.split(
    ' ',
  )
export const decisions = ['approved_by', 'undo_until', 'decided_by', 'decided_at', 'stopped_by']

export const request = ['operation', 'conversation_id', 'visitor_id', 'payload']
export const conditions = Object.keys(commonColumns).filter((column) => column !== 'ref')
const differences: Readonly<Record<DatabaseKind, string>> = {
  sqlite: 'is not',
  postgres: 'is distinct from',
}

export function differ(kind: DatabaseKind, names: readonly string[]): string {
  return names.map((name) => `new.${name} ${differences[kind]} old.${name}`).join(' or ')
}

export const refusals = {
  begin: 'a write-back begins as queued or as draft',
  arrived: 'a write-back that has arrived stays so',
  left: 'a write-back that may have left stays as it was sent',
  erased: 'a write-back whose words were deleted cannot be sent',
  open: 'only the words of a write-back that has its outcome can be deleted',
  log: 'the log of write-backs is only ever added to',
} as const
export const disapproval = 'changed after its approval'

/** The others have a visitor. */
export const isOnConversation = `new.operation ${inList(operationsOn('conversation'))}`

/** Never null, so that a row without its target is rejected by the constraint that names it. */
export const laneOf = (lower: string) => `case when ${isOnConversation}
  then 'conversation/' || coalesce(${lower}(new.conversation_id), '')
  else 'visitor/' || coalesce(${lower}(new.visitor_id), '') end`

/** A cancellation by plain SQL of what is being sent; deskmirror itself sets `revoked_as`. */
export const isRevoked = `old.status = 'sending' and new.status in ('cancelled','expired')
  and old.revoked_as is null`

/** A retry changes `expect` and `expires_at`, too, but of a row that is not queued. */
export const isDisapproved = (
  kind: DatabaseKind,
) => `new.approved_by is not null and new.erased_at is null
  and new.status <> 'succeeded' and (${differ(kind, request)}
    or (old.status = 'queued' and new.status = 'queued' and (${differ(kind, conditions)})))`

/**
 * What was sent is what the row says, while it is sent and afterwards. A row that plain SQL puts
 * back keeps its owner, who may be sending it. An erasure deletes words of rows that have their
 * outcome.
 */
export const hasLeft = (
  kind: DatabaseKind,
) => `(${differ(kind, request)}) and (old.status = 'sending'
  or (new.erased_at is null and (old.status in ('succeeded','uncertain')
    or (old.owner is not null and old.attempts > 0))))`

/** Such a row could neither be sent nor be settled, and its lane would wait for it. */
export const losesWordsTooEarly = `old.erased_at is null and new.erased_at is not null
  and new.status in ('draft','queued','sending')`

/** Only decisions of people set `decided_at`. */
export const person = (kind: DatabaseKind) =>
  `case when ${differ(kind, ['decided_at'])} then new.decided_by end`

/** A stopped batch that gets another row has a row that does not follow the stop yet. */
export const addRows = (
  count: string,
  own: string,
) => `rows = ${own}rows + ${count}, finished_at = null,
  done_to = case when ${own}stopped_at is not null then 0 else ${own}done_to end`
