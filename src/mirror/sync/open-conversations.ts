/**
 * Reads the complete list of open conversations, the only short list that shows changed handled flags. A conversation that
 * is open in the mirror but not listed was handled or deleted, so it is requested by its id.
 */
import { allTime } from '../core/pagination/pending-ranges.ts'
import { openConversationList } from '../streams/list-streams.ts'
import type { ListStream } from '../streams/stream.ts'
import { rereadByIds } from './missing-rows.ts'
import { commitPage, readPages, toGaps } from './pages.ts'
import type { SyncRun } from './run.ts'

const seenRowsKey = 'conversations:open'
const filterBehaviour = 'conversations.handled_filter'
const unreliable = 'unreliable'

/** This many open conversations that the filter did not show make it unreliable, if it does not show them again. */
const minEvidence = 20

const incompleteReason =
  'the service does not list all open conversations, so a changed flag is found by a reconcile only'

export async function readOpenConversations(run: SyncRun, stream: ListStream): Promise<void> {
  await readOpenList(run, stream)
  const isKnown = (await run.mirror.readBehaviours()).get(filterBehaviour) === unreliable
  if (isKnown || (await findUnlistedOpen(run, stream))) await recordIncompleteList(run)
  await run.mirror.forgetSeenRows(seenRowsKey)
}

/** A reconcile forgets that the filter was unreliable, so that the next sync tries it again. */
export async function retryOpenFilter(run: SyncRun): Promise<void> {
  if ((await run.mirror.readBehaviours()).get(filterBehaviour) !== unreliable) return
  const observations = [{ name: filterBehaviour, value: 'to be tried again', evidence: 'a reconcile read all flags' }]
  await run.mirror.commit({ stream: 'conversations', rows: [], requestedAt: run.now(), observations })
}

async function readOpenList(run: SyncRun, stream: ListStream): Promise<void> {
  await run.mirror.forgetSeenRows(seenRowsKey)
  const list = openConversationList(run.projectId)
  const listScan = { stream: stream.name, list, ranges: [allTime], priority: 'fresh' } as const
  for await (const batch of readPages(run, listScan)) {
    const more = { seenRowsKey, gaps: toGaps(stream.name, batch) }
    await commitPage(run, stream.name, batch, stream.parseRows(batch.items, run.projectId), more)
  }
}

/**
 * Requests the conversations that the list did not show. True if the filter is unreliable: many of them are open, and were
 * missing from the list both before and after they were seen to be open. Flags may also change while they are read.
 */
async function findUnlistedOpen(run: SyncRun, stream: ListStream): Promise<boolean> {
  let [requested, open] = [0, [] as string[]]
  for (let after: string | null = null; ; ) {
    const ids = await run.mirror.listUnseenRows('conversations', seenRowsKey, 'open', after, minEvidence)
    if (ids.length === 0) return false
    const rows = await rereadByIds(run, stream, ids, 'fresh')
    requested += rows.length
    open.push(...ids.filter((_, i) => rows[i] != null && (rows[i]?.columns.handled_at ?? null) === null))
    after = ids.at(-1) ?? null
    if (open.length < minEvidence || open.length < requested) continue
    await readOpenList(run, stream)
    const missing = new Set(await run.mirror.listUnseenIds('conversations', seenRowsKey, open))
    const again = await rereadByIds(run, stream, [...missing], 'fresh')
    open = [...missing].filter((_, i) => again[i] != null && (again[i]?.columns.handled_at ?? null) === null)
    if (open.length >= minEvidence) return true
    requested = 0
    open = []
  }
}

async function recordIncompleteList(run: SyncRun): Promise<void> {
  const evidence = `${minEvidence} open conversations were twice missing from the list with handled=false`
  const observations = [{ name: filterBehaviour, value: unreliable, evidence }]
  const gaps = [{ stream: 'conversations' as const, from: null, to: null, reason: incompleteReason }]
  await run.mirror.commit({ stream: 'conversations', rows: [], requestedAt: run.now(), observations, gaps })
  run.notices.add('The service does not list all open conversations, so only a reconcile updates all handled flags.')
}
