/**
 * The `handled` parameter of the list of conversations. Without it the list may leave some out:
 * then it is read in two parts. The list of open conversations is the only short one that shows
 * changed flags; it, too, may leave some out.
 */

import type { Gap, MirrorRow, ServiceBehaviour } from '../../../schema/row.ts'
import { untimedGap } from '../core/mirror.ts'
import { allTime } from '../core/pagination/list-cursor.ts'
import type { ListEndpoint } from '../core/pagination/paging-profile.ts'
import type { ListStream } from '../core/stream-kinds.ts'
import { commitPage, commitWithoutRows, readPages, toGaps } from './pages.ts'
import { readByIds } from './rows-by-id.ts'
import type { SyncRun } from './run.ts'

/** Absent as long as no page has shown it, and while a first sync still has to ask. */
const hiddenBehaviour = 'conversations.without_handled'
const hiddenValues = { notAll: 'not all', showsHandled: 'handled ones', all: 'all' } as const

export const partSuffixes = [':handled', ':open'] as const

/** `suffix`: of the names of its cursors. */
export function listParts(run: SyncRun, stream: ListStream) {
  const isHidden = stream.name === 'conversations' && readHidden(run) === hiddenValues.notAll
  if (!isHidden) return [{ list: stream.list(run.projectId), suffix: '' }]
  return partSuffixes.map((suffix) => ({
    list: listByFlag(run, stream, suffix === ':handled'),
    suffix,
  }))
}

function listByFlag(run: SyncRun, stream: ListStream, handled: boolean): ListEndpoint {
  return { ...stream.list(run.projectId), query: { handled }, partitions: [] }
}

function readHidden({ behaviours }: SyncRun): string | undefined {
  return behaviours.get(hiddenBehaviour)
}

const hidden = (value: string, evidence: string): ServiceBehaviour => ({
  name: hiddenBehaviour,
  value,
  evidence,
})

/** Committed with a page: a handled conversation on it shows that the list does not hide those. */
export function observeHandled(
  run: SyncRun,
  { name, query }: ListEndpoint,
  rows: readonly MirrorRow[],
) {
  if (name !== 'conversations' || query.handled !== undefined || readHidden(run) !== undefined)
    return []
  const shown = rows.find(({ columns }) => columns.handled_at != null)
  if (shown === undefined) return []
  return [
    hidden(
      hiddenValues.showsHandled,
      `the list without it shows the handled conversation ${shown.columns.id}`,
    ),
  ]
}

const aPage = { ranges: [allTime], priority: 'fresh' } as const

/** Before the whole list is read: conversations that were just added may have looked hidden. */
export async function retryHidden(run: SyncRun, stream: ListStream): Promise<void> {
  if (stream.name !== 'conversations' || readHidden(run) !== hiddenValues.notAll) return
  const list = stream.list(run.projectId)
  for await (const batch of readPages(run, { stream: stream.name, list, ...aPage })) {
    const parsed = stream.parseRows(batch.items, run.projectId)
    const showsBoth =
      new Set(parsed.rows.map(({ columns }) => columns.handled_at != null)).size === 2
    const evidence = 'a page of the list without it shows handled and open conversations'
    const observations = showsBoth ? [hidden(hiddenValues.showsHandled, evidence)] : []
    await commitPage(run, stream.name, batch, parsed, { observations })
    return
  }
}

/**
 * After a read of the list: whether a page of either part shows conversations that the list did
 * not. An incremental sync asks until the answer is stored, as changed flags prove nothing; a
 * reconcile always. `seenRowsKey`: what the list has shown; null = whatever is mirrored.
 */
export async function findHiddenConversations(
  run: SyncRun,
  stream: ListStream,
  shown: { readonly seenRowsKey: string | null; readonly isFirst: boolean },
): Promise<boolean> {
  const { seenRowsKey, isFirst } = shown
  const known = readHidden(run)
  if (known === hiddenValues.notAll || (seenRowsKey === null && known === hiddenValues.all))
    return false
  if (await showsHidden(run, stream, seenRowsKey, true)) return true
  // Later syncs read the list of open conversations anyway.
  const asksOpen = (isFirst || seenRowsKey !== null) && !(await hasShownOpen(run, seenRowsKey))
  if (asksOpen && (await showsHidden(run, stream, seenRowsKey, false))) return true
  if (known !== hiddenValues.showsHandled) return false
  const evidence =
    'a page of the handled conversations shows none that were missing without this filter'
  await commitWithoutRows(run, stream.name, { observations: [hidden(hiddenValues.all, evidence)] })
  return false
}

/** The list showed an open conversation, so it does not leave those out. */
async function hasShownOpen(run: SyncRun, seenRowsKey: string | null): Promise<boolean> {
  const { living, unseen } = await run.mirror.countUnseenRows(
    'conversations',
    seenRowsKey ?? '',
    'open',
  )
  return living > (seenRowsKey === null ? 0 : unseen)
}

async function showsHidden(
  run: SyncRun,
  stream: ListStream,
  seenRowsKey: string | null,
  handled: boolean,
) {
  const list = listByFlag(run, stream, handled)
  for await (const batch of readPages(run, {
    stream: stream.name,
    list,
    ...aPage,
    isContinued: true,
  })) {
    const parsed = stream.parseRows(batch.items, run.projectId)
    const ids = parsed.rows.map(({ columns }) => String(columns.id))
    const unseen = await run.mirror.listUnseenIds(stream.name, seenRowsKey, ids)
    // A new one may be missing, too, but not most of a page, or the only handled ones.
    const isUnlike = handled && readHidden(run) === undefined
    const isHidden = unseen.length > (isUnlike ? 0 : ids.length / 2)
    const evidence =
      `${unseen.length} of ${ids.length} conversations with ` +
      `handled=${handled} were missing without it`
    const observations = isHidden ? [hidden(hiddenValues.notAll, evidence)] : []
    await commitPage(run, stream.name, batch, parsed, { observations })
    return isHidden
  }
  return false
}

const openRowsKey = 'conversations:open'
const filterBehaviour = 'conversations.handled_filter'
const unreliable = 'unreliable'

/** The filter is unreliable if it twice did not show so many open conversations. */
const minEvidence = 20

const incompleteReason =
  'the service does not list all open conversations, so a changed flag is found by a reconcile only'

/**
 * What is open in the mirror but not listed was handled or deleted, so it is requested by its id.
 */
export async function readOpenConversations(run: SyncRun, stream: ListStream): Promise<void> {
  await readOpenList(run, stream)
  const isKnown = run.behaviours.get(filterBehaviour) === unreliable
  if (isKnown || (await findUnlistedOpen(run, stream))) {
    const evidence = `${minEvidence} open conversations were twice missing from the list with handled=false`
    await commitWithoutRows(run, stream.name, {
      observations: [{ name: filterBehaviour, value: unreliable, evidence }],
      gaps: [untimedGap(stream.name, incompleteReason)],
    })
    run.notices.add(
      'The service does not list all open conversations, so only a ' +
        'reconcile updates all handled flags.',
    )
  }
  await run.mirror.forgetSeenRows(openRowsKey)
}

/** A reconcile forgets that the filter was unreliable, so that the next sync tries it again. */
export async function retryOpenFilter(run: SyncRun): Promise<void> {
  if (run.behaviours.get(filterBehaviour) !== unreliable) return
  const observations = [
    { name: filterBehaviour, value: 'to be tried again', evidence: 'a reconcile read all flags' },
  ]
  await commitWithoutRows(run, 'conversations', { observations })
}

async function readOpenList(run: SyncRun, stream: ListStream): Promise<void> {
  await run.mirror.forgetSeenRows(openRowsKey)
  const list = listByFlag(run, stream, false)
  const open = await run.mirror.listOpenGaps(stream.name)
  const isOpen = (gap: Gap) => open.some(({ dedupKey }) => dedupKey === gap.dedupKey)
  for await (const batch of readPages(run, { stream: stream.name, list, ...aPage })) {
    // Between the rows of this list, more may have been read than it shows.
    const gaps = toGaps(stream.name, batch).filter((gap) => !isOpen(gap))
    const more = { seenRowsKey: openRowsKey, gaps }
    await commitPage(run, stream.name, batch, stream.parseRows(batch.items, run.projectId), more)
  }
}

/**
 * Requests what the list did not show. True if the filter is unreliable: many are open, and were
 * missing from the list both before and after they were seen to be open.
 */
async function findUnlistedOpen(run: SyncRun, stream: ListStream): Promise<boolean> {
  const rereadOpen = async (ids: readonly string[]) => {
    const rows = await readByIds(run, stream, ids, 'fresh')
    return ids.filter((_, i) => {
      const row = rows[i]
      return typeof row === 'object' && (row.columns.handled_at ?? null) === null
    })
  }
  let requested = 0
  let open = [] as string[]
  for (let after: string | null = null; ; ) {
    const ids = await run.mirror.listUnseenRows(
      'conversations',
      openRowsKey,
      'open',
      after,
      minEvidence,
    )
    if (ids.length === 0) return false
    open.push(...(await rereadOpen(ids)))
    requested += ids.length
    after = ids.at(-1) ?? null
    if (open.length < minEvidence || open.length < requested) continue
    await readOpenList(run, stream)
    const missing = await run.mirror.listUnseenIds('conversations', openRowsKey, open)
    if ((await rereadOpen(missing)).length >= minEvidence) return true
    ;[requested, open] = [0, []]
  }
}
