/**
 * Conversations that a list showed with an earlier last message than the mirror has. The list's copy may be old, or a
 * message may be dated before the one that it follows: only reading each by its id can tell.
 */
import type { ListStream } from '../streams/stream.ts'
import type { Run } from './deps.ts'
import { readAgain } from './vanished.ts'

/** So many a pass; the others remain noted for the next one. */
const atMost = 400

export async function checkRows(run: Run, stream: ListStream): Promise<void> {
  const ids = await run.mirror.toCheck(atMost)
  if (ids.length === 0) return
  await readAgain(run, stream, ids, 'fresh')
  await run.mirror.checked(ids)
}
