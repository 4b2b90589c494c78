/**
 * The list of conversations without `handled` may leave some of them out: only open ones, for example. Then it is read in
 * its parts, `handled=true` and `handled=false`.
 */

import type { MirrorRow, ServiceBehaviour } from '../../../schema/row.ts'
import type { ListEndpoint } from '../core/pagination/list-endpoint.ts'
import { allTime } from '../core/pagination/pending-ranges.ts'
import type { ListStream, ParsedRows } from '../streams/stream.ts'
import type { PageBatch } from './list-reader.ts'
import { commitPage, readPages } from './pages.ts'
import type { SyncRun } from './run.ts'

/** Absent as long as no page has shown it, and while a first sync still has to ask. */
const hiddenBehaviour = 'conversations.without_handled'
const hiddenValues = { notAll: 'not all', showsHandled: 'handled ones', all: 'all' } as const

/** `suffix`: of the names of its cursors. */
type ListPart = { readonly list: ListEndpoint; readonly suffix: string }

export const partSuffixes = [':handled', ':open'] as const

export async function listParts(run: SyncRun, stream: ListStream): Promise<readonly ListPart[]> {
  const list = stream.list(run.projectId)
  const isHidden = stream.name === 'conversations' && (await readHidden(run)) === hiddenValues.notAll
  if (!isHidden) return [{ list, suffix: '' }]
  return [
    { list: { ...list, query: { handled: true }, partitions: [] }, suffix: ':handled' },
    { list: { ...list, query: { handled: false }, partitions: [] }, suffix: ':open' },
  ]
}

async function readHidden(run: SyncRun): Promise<string | undefined> {
  return (await run.mirror.readBehaviours()).get(hiddenBehaviour)
}

/** Committed with a page of the list without `handled`: a handled conversation on it shows that it does not hide those. */
export async function observeHandled(
  run: SyncRun,
  { name, query }: ListEndpoint,
  rows: readonly MirrorRow[],
): Promise<readonly ServiceBehaviour[]> {
  const shown = rows.find(({ columns }) => name === 'conversations' && columns.handled_at != null)
  if (shown === undefined || query.handled !== undefined || (await readHidden(run)) !== undefined) return []
  const evidence = `the list without it shows the handled conversation ${shown.columns.id}`
  return [{ name: hiddenBehaviour, value: hiddenValues.showsHandled, evidence }]
}

/**
 * Before a read of the whole list: whether it leaves out any after all. Conversations that were added between two requests
 * may have looked like hidden ones.
 */
export async function retryHidden(run: SyncRun, stream: ListStream): Promise<void> {
  if (stream.name !== 'conversations' || (await readHidden(run)) !== hiddenValues.notAll) return
  const list = stream.list(run.projectId)
  for await (const batch of readPages(run, { stream: stream.name, list, ...aPage, isContinued: false })) {
    const parsed = stream.parseRows(batch.items, run.projectId)
    const isHandled = new Set(parsed.rows.map(({ columns }) => columns.handled_at != null))
    const evidence = 'a page of the list without it shows handled and open conversations'
    const observations =
      isHandled.size === 2 ? [{ name: hiddenBehaviour, value: hiddenValues.showsHandled, evidence }] : []
    return commitObserved(run, stream, batch, parsed, observations)
  }
}

/** One that only has to be looked at. */
const aPage = { ranges: [allTime], priority: 'fresh', isContinued: true } as const

async function commitObserved(
  run: SyncRun,
  { name }: ListStream,
  batch: PageBatch,
  parsed: ParsedRows,
  observed: readonly ServiceBehaviour[],
): Promise<void> {
  await commitPage(run, name, { ...batch, observations: [...batch.observations, ...observed] }, parsed)
}

/** `seenRowsKey`: what the list has shown; null = whatever is mirrored. */
type ShownBefore = { readonly seenRowsKey: string | null; readonly isFirst: boolean }

/**
 * After a read of the list: whether a page of either part shows conversations that the list did not. True if that was
 * found now. An incremental sync asks until the answer is stored, as flags that have changed since the list was read prove
 * nothing; a reconcile asks always.
 */
export async function findHiddenConversations(run: SyncRun, stream: ListStream, shown: ShownBefore): Promise<boolean> {
  const { seenRowsKey, isFirst } = shown
  const known = await readHidden(run)
  if (known === hiddenValues.notAll || (seenRowsKey === null && known === hiddenValues.all)) return false
  if (await showsHidden(run, stream, seenRowsKey, true)) return true
  // Later syncs read the list of open conversations anyway.
  const asksOpen = (isFirst || seenRowsKey !== null) && !(await hasShownOpen(run, seenRowsKey))
  if (asksOpen && (await showsHidden(run, stream, seenRowsKey, false))) return true
  if (known !== hiddenValues.showsHandled) return false
  const evidence = 'a page of the handled conversations shows none that were missing without `handled`'
  const observations = [{ name: hiddenBehaviour, value: hiddenValues.all, evidence }]
  await run.mirror.commit({ stream: stream.name, rows: [], requestedAt: run.now(), observations })
  return false
}

/** The list showed an open conversation, so it does not leave those out. */
async function hasShownOpen(run: SyncRun, seenRowsKey: string | null): Promise<boolean> {
  const { living, unseen } = await run.mirror.countUnseenRows('conversations', seenRowsKey ?? '', 'open')
  return living > (seenRowsKey === null ? 0 : unseen)
}

async function showsHidden(run: SyncRun, stream: ListStream, seenRowsKey: string | null, handled: boolean) {
  const list = { ...stream.list(run.projectId), query: { handled }, partitions: [] }
  for await (const batch of readPages(run, { stream: stream.name, list, ...aPage })) {
    const parsed = stream.parseRows(batch.items, run.projectId)
    const ids = parsed.rows.map(({ columns }) => String(columns.id))
    const unseen = await run.mirror.listUnseenIds(stream.name, seenRowsKey, ids)
    // One that has only just been created may be missing, too, but not most of a page, or the only ones that are handled.
    const isUnlike = handled && (await readHidden(run)) === undefined
    const isHidden = unseen.length > (isUnlike ? 0 : ids.length / 2)
    const evidence = `${unseen.length} of ${ids.length} conversations with handled=${handled} were missing without it`
    const observations = isHidden ? [{ name: hiddenBehaviour, value: hiddenValues.notAll, evidence }] : []
    await commitObserved(run, stream, batch, parsed, observations)
    return isHidden
  }
  return false
}
