/** The outbox (the queue of write-backs) of one project, for its sender and for people. Every write is durable when it returns. */

import { readBehaviours, recordBehaviours } from '../../mirror/sql/sync-state.ts'
import { ofProject, type ProjectDb } from '../../warehouse/project-db.ts'
import {
  countAhead,
  countRevertible,
  findBatch,
  findBatchRest,
  findRevertOf,
  listBatches,
  listBatchNames,
  listStoppedBatches,
  recordFinishedBatches,
} from './batches.ts'
import { findClaimable, findRest, hasPending } from './claimable.ts'
import { claim, listRecentOutcomes, markSending, recordMessageId, release, settle, settleSent } from './claims.ts'
import { decide, decideBatch, revokeSending } from './decisions.ts'
import { assignProject, enqueue, findDuplicateRefs, importedAs, readQueueMark } from './enqueue.ts'
import {
  countByOperation,
  countByStatus,
  digestOf,
  findIds,
  groupReasons,
  list,
  listEvents,
  listLatestEvents,
  listNewest,
  readSelection,
} from './entries.ts'
import { findQueuedRefs, listReplies } from './import-lookups.ts'
import {
  findConversation,
  findOwnEdits,
  findPreviousReplyStatus,
  findRequeueing,
  hasUnmatchedDuplicate,
  listMatchedMessageIds,
  readMirroredMessages,
} from './lane-history.ts'
import { readLanes } from './revert-source.ts'
import { nameEntries, readFacts, readTargets } from './review-facts.ts'
import { listBatch, listChecked, readAhead, readChecks, storeChecks } from './review-rows.ts'

export type Outbox = ReturnType<typeof createOutbox>
export type ImportLookups = Pick<Outbox, 'findQueuedRefs' | 'listReplies'>

export function createOutbox(context: ProjectDb) {
  return ofProject(context, {
    ...{ enqueue, readQueueMark, importedAs, findDuplicateRefs, assignProject, findQueuedRefs, listReplies },
    ...{ findIds, list, listNewest, listEvents, listLatestEvents, countByStatus, countByOperation, groupReasons },
    ...{ listBatches, findBatch, listBatchNames, listStoppedBatches, countAhead, findBatchRest, countRevertible },
    ...{ readSelection, digestOf, decide, decideBatch, revokeSending, findRevertOf, readLanes },
    ...{ nameEntries, readFacts, readTargets, readAhead, listBatch, readChecks, listChecked, storeChecks },
    ...{ findClaimable, hasPending, findRest, claim, markSending, settleSent, settle, release, recordMessageId },
    ...{ recordFinishedBatches, listRecentOutcomes, readBehaviours, recordBehaviours, listMatchedMessageIds },
    ...{ hasUnmatchedDuplicate, findOwnEdits, findPreviousReplyStatus, findRequeueing, readMirroredMessages },
    findConversation,
  })
}
