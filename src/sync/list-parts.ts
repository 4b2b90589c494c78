/**
 * The list of conversations without `handled` may leave some of them out: only open ones, for example. Then it is read in
 * its parts, `handled=true` and `handled=false`.
 */
import type { ListEndpoint } from '../core/pagination/list-endpoint.ts'
import { allTime } from '../core/pagination/pending-ranges.ts'
import type { ListStream } from '../streams/stream.ts'
import { commitPage, readPages } from './pages.ts'
import type { SyncRun } from './run.ts'

/** Recorded if it does. */
const hiddenBehaviour = 'conversations.without_handled'
const hiddenValue = 'not all'

/** `suffix`: of the names of its cursors. */
export type ListPart = { readonly list: ListEndpoint; readonly suffix: string }

export const partSuffixes = [':handled', ':open'] as const

export async function listParts(run: SyncRun, stream: ListStream): Promise<readonly ListPart[]> {
  const list = stream.list(run.projectId)
  const isHidden =
    stream.name === 'conversations' && (await run.mirror.readBehaviours()).get(hiddenBehaviour) === hiddenValue
  if (!isHidden) return [{ list, suffix: '' }]
  return [
    { list: { ...list, query: { handled: true }, partitions: [] }, suffix: ':handled' },
    { list: { ...list, query: { handled: false }, partitions: [] }, suffix: ':open' },
  ]
}

/**
 * After a read of the whole list: whether a page of either part shows conversations that the list did not. `seenRowsKey`:
 * what the list showed; null = whatever is mirrored. True if that was found now.
 */
export async function findHiddenConversations(
  run: SyncRun,
  stream: ListStream,
  seenRowsKey: string | null,
): Promise<boolean> {
  if ((await run.mirror.readBehaviours()).get(hiddenBehaviour) === hiddenValue) return false
  if (await showsHidden(run, stream, seenRowsKey, true)) return true
  return !(await hasShownOpen(run, seenRowsKey)) && (await showsHidden(run, stream, seenRowsKey, false))
}

/** The list showed an open conversation, so it does not leave those out. */
async function hasShownOpen(run: SyncRun, seenRowsKey: string | null): Promise<boolean> {
  const { living, unseen } = await run.mirror.countUnseenRows('conversations', seenRowsKey ?? '', 'open')
  return living > (seenRowsKey === null ? 0 : unseen)
}

async function showsHidden(run: SyncRun, stream: ListStream, seenRowsKey: string | null, handled: boolean) {
  const list = { ...stream.list(run.projectId), query: { handled }, partitions: [] }
  const scan = { stream: stream.name, list, ranges: [allTime], priority: 'fresh', isContinued: true } as const
  for await (const batch of readPages(run, scan)) {
    const parsed = stream.parseRows(batch.items, run.projectId)
    const ids = parsed.rows.map(({ columns }) => String(columns.id))
    const unseen = await run.mirror.listUnseenIds(stream.name, seenRowsKey, ids)
    // A conversation that has only just been created may be missing, too, but not most of a page.
    const isHidden = unseen.length > ids.length / 2
    const evidence = `${unseen.length} of ${ids.length} conversations with handled=${handled} were missing without it`
    const observations = isHidden ? [{ name: hiddenBehaviour, value: hiddenValue, evidence }] : []
    await commitPage(run, stream.name, { ...batch, observations: [...batch.observations, ...observations] }, parsed)
    return isHidden
  }
  return false
}
