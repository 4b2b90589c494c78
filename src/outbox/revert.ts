/** Queues the inverse of a batch as drafts, from what was seen before each of its rows was sent. */

import { inChunks } from '../values/chunks.ts'
import { UserError } from '../values/user-error.ts'
import type { BatchSummary, NotReverted, RevertReport } from './core/batches.ts'

import { revertLane } from './core/revert.ts'
import type { WritebackRequest } from './core/writeback-request.ts'
import { type BatchDecisionRequest, requireBatch } from './decide.ts'
import type { Outbox } from './sql/outbox.ts'

const rowsPerInsert = 200
const rowsReported = 1000

/** `by`: who takes it back. Throws UserError if it can still be sent, or was taken back before. */
export async function revertBatch(
  outbox: Outbox,
  { batch: name, by, audit }: Omit<BatchDecisionRequest, 'shown'>,
): Promise<Omit<RevertReport, 'project'>> {
  const batch = await requireBatch(outbox, name)
  requireSettled(batch)
  const revertId = await chooseName(outbox, batch.id)
  const requests: WritebackRequest[] = []
  const counts: Partial<Record<NotReverted['outcome'], number>> = {}
  const notReverted: NotReverted[] = []
  let arrived = 0
  for await (const lane of outbox.readLanes(batch.id)) {
    const revert = revertLane(lane)
    arrived += lane.rows.filter(({ status }) => status === 'succeeded').length
    // The ref keeps two people who take it back at the same time from queueing it twice.
    const refOf = ({ operation }: WritebackRequest) =>
      `${revertId}/${lane.rows[0]?.id ?? ''}/${operation}`
    requests.push(...revert.requests.map((request) => ({ ...request, ref: refOf(request) })))
    for (const row of revert.notReverted) {
      counts[row.outcome] = (counts[row.outcome] ?? 0) + 1
      if (notReverted.length < rowsReported) notReverted.push(row)
    }
  }
  const revertedBy = arrived === 0 ? await outbox.findRevertOf(batch.id) : null
  if (revertedBy !== null) {
    const next = `\`deskmirror writeback batches show ${revertedBy}\` shows it`
    throw unqueued(`${batch.id} is taken back by ${revertedBy}`, next)
  }
  const result = await outbox.enqueue(inChunks(requests, rowsPerInsert), {
    status: 'draft',
    batchId: revertId,
    createdBy: by,
    expiresAt: null,
    ...(audit && { audit }),
    batch: {
      title: `Takes back ${batch.title ?? batch.id}`,
      source: 'revert',
      note: null,
      reverts: batch.id,
    },
  })
  const queued = 'queued' in result ? result.queued : 0
  const targets = await outbox.readTargets(notReverted)
  const named = notReverted.map((row, index) => ({
    ...row,
    visitorName: targets[index]?.visitorName ?? null,
  }))
  return {
    reverts: batch.id,
    batch: queued === 0 ? null : revertId,
    queued,
    counts,
    notReverted: named,
  }
}

/** What is sent afterwards would not be taken back. */
function requireSettled({ id, stoppedAt, counts }: BatchSummary): void {
  const { queued = 0, sending = 0 } = counts
  if (queued + sending === 0) return
  const why =
    `${queued + sending} of ${id} can still be sent or ` +
    `${queued + sending === 1 ? 'is' : 'are'} in flight`
  const next =
    stoppedAt !== null || queued === 0
      ? 'wait until the outcome of those in flight is known'
      : `stop it first: \`deskmirror writeback stop --batch ${id}\``
  throw unqueued(why, next)
}

function unqueued(why: string, next: string): UserError {
  return new UserError({ what: 'nothing was queued', why, next, exitCode: 2 })
}

/** The name must not end like an import's. */
async function chooseName(outbox: Outbox, id: string): Promise<string> {
  for (let n = 1; ; n++) {
    const name = n === 1 ? `${id}-revert` : `${id}-revert-${n}`
    if ((await outbox.findBatch(name)) === null) return name
  }
}
