/**
 * Reads the complete list of open conversations, the only short list that shows changed handled flags. A conversation that
 * is open in the mirror but not listed was handled or deleted, so it is requested by its id.
 */
import { allTime } from '../core/pagination/pending-ranges.ts'
import { openConversationList } from '../streams/list-streams.ts'
import type { ListStream } from '../streams/stream.ts'
import { rereadByIds } from './missing-rows.ts'
import { commitPage, readPages } from './pages.ts'
import type { SyncRun } from './run.ts'

const seenRowsKey = 'conversations:open'
const unreliableFilter = 'conversations.handled_filter'

/** This many open conversations that the filter did not show prove that it is unreliable. */
const minEvidence = 20

export async function readOpenConversations(run: SyncRun, stream: ListStream): Promise<void> {
  await run.mirror.forgetSeenRows(seenRowsKey)
  const list = openConversationList(run.projectId)
  const listScan = { stream: stream.name, list, ranges: [allTime], priority: 'fresh' } as const
  for await (const batch of readPages(run, listScan)) {
    await commitPage(run, stream.name, batch, stream.parseRows(batch.items, run.projectId), { seenRowsKey })
  }
  if ((await run.mirror.readBehaviours()).get(unreliableFilter) === undefined) await rereadUnlisted(run, stream)
  await run.mirror.forgetSeenRows(seenRowsKey)
}

async function rereadUnlisted(run: SyncRun, stream: ListStream): Promise<void> {
  let [requested, open] = [0, 0]
  for (let after: string | null = null; ; ) {
    const ids = await run.mirror.listUnseenRows('conversations', seenRowsKey, 'open', after, minEvidence)
    if (ids.length === 0) return
    for (const row of await rereadByIds(run, stream, ids, 'fresh')) {
      requested += 1
      if (row !== null && (row.columns.handled_at ?? null) === null) open += 1
    }
    after = ids.at(-1) ?? null
    if (open >= minEvidence && open === requested) return recordUnreliableFilter(run)
  }
}

async function recordUnreliableFilter(run: SyncRun): Promise<void> {
  const evidence = `${minEvidence} conversations that are not handled were missing from the list with handled=false`
  const observations = [{ name: unreliableFilter, value: 'unreliable', evidence }]
  await run.mirror.commit({ stream: 'conversations', rows: [], requestedAt: run.now(), observations })
  run.notices.add('The service does not list all open conversations, so only a reconcile updates all handled flags.')
}
