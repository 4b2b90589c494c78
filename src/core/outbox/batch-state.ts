/** The one word for a batch, from one set of facts. Pure. */
import type { Batch, BatchState } from './batches.ts'
import type { StatusCounts } from './state.ts'

/** A stopped batch is stopped as long as something of it waits; what is in flight comes before what waits for approval. */
export function toBatchState({ stoppedAt }: Pick<Batch, 'stoppedAt'>, counts: StatusCounts): BatchState {
  const { draft = 0, queued = 0, sending = 0, uncertain = 0 } = counts
  if (draft + queued + sending + uncertain === 0) return 'done'
  if (stoppedAt !== null && draft + queued > 0) return 'stopped'
  if (queued + sending > 0) return 'sending'
  return draft > 0 ? 'draft' : 'uncertain'
}
