/** The queue of write-backs of one project. Every write is durable when it returns. */

import { readBehaviours, recordBehaviours } from '../../mirror/sql/sync-state.ts'
import { isWarehouseUnavailable } from '../../warehouse/explain-error.ts'
import { ofProject, type ProjectDb } from '../../warehouse/project-db.ts'
import { type Repeatable, retryAllMethods } from '../../warehouse/retry.ts'
import { withSnapshotOf } from '../../warehouse/transactions.ts'
import { decideBatch } from './batch-decisions.ts'
import {
  countQueuedEarlier,
  countRevertible,
  countUndecided,
  findBatch,
  findRevertOf,
  listBatches,
  listBatchNames,
  listStoppedBatches,
  listUndecidedBatches,
  recordFinishedBatches,
} from './batches.ts'
import { findBatchRest, findClaimable, findLiveClaim, findRest, hasPending } from './claimable.ts'
import {
  claim,
  listRecentOutcomes,
  markSending,
  recordContradiction,
  recordMessageId,
  release,
  settle,
  settleSent,
} from './claims.ts'
import { decide, revokeSending } from './decisions.ts'
import { deleteWords, erase, forgetEnded, forgetPrivate } from './delete-words.ts'
import {
  assignProject,
  enqueue,
  findDuplicateRefs,
  findImport,
  listColumnMaps,
  readQueueMark,
} from './enqueue.ts'
import {
  countByOperation,
  countByStatus,
  countMayHaveArrived,
  digestOf,
  findIds,
  groupReasons,
  list,
  listApprovers,
  listEvents,
  listInDoubt,
  listLatestEvents,
  listNewest,
  readCandidates,
} from './entries.ts'
import { findQueuedRefs, listReplies } from './import-lookups.ts'
import {
  countUnmatchedDuplicates,
  findConversations,
  findPreviousReplyStatus,
  findRequeueing,
  listMatchedMessageIds,
  readMirroredMessages,
  readOwnEdits,
} from './lane-history.ts'
import { listBatch, readAhead } from './queued-rows.ts'
import { readLanes } from './revert-source.ts'
import { findKnownSenders, nameEntries, readFacts, readTargets } from './review-facts.ts'
import { countWithoutProject, decideSending, readSendingStop } from './sending.ts'

/** Lost claims are found again when their lease expires. */
const functions = {
  countUnmatchedDuplicates,
  readQueueMark,
  findImport,
  findDuplicateRefs,
  assignProject,
  findQueuedRefs,
  listReplies,
  findIds,
  list,
  listNewest,
  listEvents,
  listLatestEvents,
  countByStatus,
  countByOperation,
  groupReasons,
  listBatches,
  findBatch,
  listBatchNames,
  listStoppedBatches,
  countQueuedEarlier,
  findBatchRest,
  countRevertible,
  countUndecided,
  readCandidates,
  countMayHaveArrived,
  listInDoubt,
  listApprovers,
  digestOf,
  revokeSending,
  findRevertOf,
  nameEntries,
  readFacts,
  readTargets,
  readAhead,
  listBatch,
  findKnownSenders,
  findClaimable,
  hasPending,
  findLiveClaim,
  findRest,
  claim,
  settleSent,
  settle,
  release,
  recordContradiction,
  recordMessageId,
  recordFinishedBatches,
  listRecentOutcomes,
  readBehaviours,
  // The same value once more.
  recordBehaviours: Object.assign(recordBehaviours, { mayRepeat: true as const }),
  listMatchedMessageIds,
  readOwnEdits,
  findPreviousReplyStatus,
  findRequeueing,
  readMirroredMessages,
  findConversations,
  listColumnMaps,
  readSendingStop,
  countWithoutProject,
  listUndecidedBatches,
}
const repeated: Repeatable<typeof functions> = functions

export type Outbox = ReturnType<typeof createOutbox>

export function createOutbox(context: ProjectDb) {
  // Rows may come from a stream that is read once, and people repeat their own decisions.
  const once = ofProject(context, {
    enqueue,
    decide,
    decideBatch,
    decideSending,
    readLanes,
    markSending,
    deleteWords,
    erase,
    forgetEnded,
    forgetPrivate,
  })
  const outbox = retryAllMethods(context.retry, ofProject(context, repeated))
  return {
    ...outbox,
    ...once,
    /** If it is not known whether this was recorded, nothing is sent. */
    markSending: async (...send: Parameters<typeof once.markSending>) => {
      try {
        return await once.markSending(...send)
      } catch (error) {
        if (!isWarehouseUnavailable(error)) throw error
        await outbox.settleSent(send[0], { event: 'not_sent', why: notMarked })
        return false
      }
    },
  }
}

const notMarked =
  'the warehouse did not answer when this was marked as sending, so nothing was sent'

/** Reads of one state of the database. `work` must not use the warehouse otherwise meanwhile. */
export function withOutboxSnapshot<T>(
  context: ProjectDb,
  work: (outbox: Outbox) => Promise<T>,
): Promise<T> {
  return withSnapshotOf(context.db, context.kind, (db) => work(createOutbox({ ...context, db })))
}
