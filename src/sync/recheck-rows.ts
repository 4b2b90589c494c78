/**
 * Conversations that a list showed with an earlier last message than the mirror has. The list's copy may be old, or a
 * message may be dated before the one that it follows: only reading each by its id can tell.
 */
import type { ListStream } from '../streams/stream.ts'
import type { SyncRun } from './deps.ts'
import { rereadByIds } from './missing-rows.ts'

/** So many a pass; the others remain noted for the next one. */
const maxRechecks = 400

export async function recheckRows(run: SyncRun, stream: ListStream): Promise<void> {
  const ids = await run.mirror.listRowsToRecheck(maxRechecks)
  if (ids.length === 0) return
  await rereadByIds(run, stream, ids, 'fresh')
  await run.mirror.clearRecheck(ids)
}
