/** Queues the inverse of a batch as a draft batch, from what was seen before each of its write-backs was sent. */

import { UserError } from '../values/user-error.ts'
import type { BatchSummary, NotReverted, RevertReport } from './core/batches.ts'
import type { DecisionTerms } from './core/decisions.ts'
import { revertLane } from './core/revert.ts'
import type { WritebackRequest } from './core/writeback-request.ts'
import { requireBatch } from './decide.ts'
import type { Outbox } from './sql/outbox.ts'

/** `batch`: its name or a unique beginning of it. `by`: who takes it back. */
export type RevertRequest = { readonly batch: string } & Pick<DecisionTerms, 'by' | 'audit'>

const rowsPerInsert = 200
const rowsReported = 1000

/** Throws UserError if it can still be sent, or was taken back before. */
export async function revertBatch(
  admin: Outbox,
  { batch: name, ...request }: RevertRequest,
): Promise<Omit<RevertReport, 'project' | 'notReverted'> & { readonly notReverted: readonly NotReverted[] }> {
  const batch = await requireBatch(admin, name)
  requireSettled(batch)
  const revertId = await chooseName(admin, batch.id)
  const requests: WritebackRequest[] = []
  const counts: Partial<Record<NotReverted['outcome'], number>> = {}
  const notReverted: NotReverted[] = []
  let arrived = 0
  for await (const lane of admin.readLanes(batch.id)) {
    const revert = revertLane(lane)
    arrived += lane.rows.filter(({ status }) => status === 'succeeded').length
    // The ref keeps two people who take it back at the same time from queueing it twice.
    if (revert.request !== null) requests.push({ ...revert.request, ref: `${revertId}/${lane.rows[0]?.id ?? ''}` })
    for (const row of revert.notReverted) {
      counts[row.outcome] = (counts[row.outcome] ?? 0) + 1
      if (notReverted.length < rowsReported) notReverted.push(row)
    }
  }
  if (arrived === 0) await rejectReverted(admin, batch.id)
  const queued = await queueDrafts(admin, requests, { revertId, batch, ...request })
  return { reverts: batch.id, batch: queued === 0 ? null : revertId, queued, counts, notReverted }
}

async function queueDrafts(
  admin: Outbox,
  requests: readonly WritebackRequest[],
  {
    revertId,
    batch,
    by,
    audit,
  }: Omit<RevertRequest, 'batch'> & { readonly revertId: string; readonly batch: BatchSummary },
): Promise<number> {
  const chunks = []
  for (let from = 0; from < requests.length; from += rowsPerInsert)
    chunks.push(requests.slice(from, from + rowsPerInsert))
  const result = await admin.enqueue(chunks, {
    status: 'draft',
    batchId: revertId,
    createdBy: by,
    expiresAt: null,
    ...(audit && { audit }),
    batch: { title: `Takes back ${batch.title ?? batch.id}`, source: 'revert', note: null, reverts: batch.id },
  })
  return 'queued' in result ? result.queued : 0
}

/** What is sent afterwards would not be taken back. */
function requireSettled({ id, stoppedAt, counts }: BatchSummary): void {
  const { queued = 0, sending = 0 } = counts
  if (queued + sending === 0) return
  const why = `${queued + sending} of ${id} can still be sent or ${queued + sending === 1 ? 'is' : 'are'} in flight`
  const next =
    stoppedAt !== null || queued === 0
      ? 'wait until the outcome of those in flight is known'
      : `stop it first: \`deskmirror writeback stop --batch ${id}\``
  throw new UserError({ what: 'nothing was queued', why, next, exitCode: 2 })
}

/** Of what has been taken back nothing is left to take back. */
async function rejectReverted(admin: Outbox, id: string): Promise<void> {
  const name = await admin.findRevertOf(id)
  if (name === null) return
  throw new UserError({
    what: 'nothing was queued',
    why: `${id} is taken back by ${name}`,
    next: `\`deskmirror writeback batches show ${name}\` shows it`,
    exitCode: 2,
  })
}

/** The name must not end like an import's. */
async function chooseName(admin: Outbox, id: string): Promise<string> {
  for (let n = 1; ; n++) {
    const name = n === 1 ? `${id}-revert` : `${id}-revert-${n}`
    if ((await admin.findBatch(name)) === null) return name
  }
}
