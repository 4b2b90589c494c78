/**
 * The open conversations, read whole: the one short list where a flag shows that was set or lifted elsewhere. What the
 * mirror holds open and the list does not show has been handled, or is gone: it is asked for by id.
 */

import { allTime } from '../core/pagination/pending-ranges.ts'
import { openConversationList } from '../streams/conversations.ts'
import type { ListStream } from '../streams/stream.ts'
import type { SyncRun } from './deps.ts'
import { rereadByIds } from './missing-rows.ts'
import { readPages } from './pages.ts'

const seenRowsKey = 'conversations:open'
const unreliableFilter = 'conversations.handled_filter'

/** So many rows that the filter should have shown, and did not, prove that it cannot be relied upon. */
const minEvidence = 20

export async function readOpenConversations(run: SyncRun, stream: ListStream): Promise<void> {
  await run.mirror.forgetSeenRows(seenRowsKey)
  const list = openConversationList(run.projectId)
  const listScan = { stream: stream.name, list, ranges: [allTime], lane: 'fresh' } as const
  for await (const read of readPages(run, listScan)) {
    const { rows, refused: unreadable } = stream.parseRows(read.items, run.projectId)
    const refused = [...read.refused, ...unreadable]
    const askedAt = read.answer?.askedAt ?? run.now()
    const news = { rows, refused, askedAt, learned: read.observations }
    const { changed } = await run.mirror.commit({ stream: stream.name, seenRowsKey, ...news })
    run.stats.recordPage(stream.name, rows.length, changed)
  }
  if ((await run.mirror.behaviours()).get(unreliableFilter) === undefined) await rereadUnlisted(run, stream)
  await run.mirror.forgetSeenRows(seenRowsKey)
}

async function rereadUnlisted(run: SyncRun, stream: ListStream): Promise<void> {
  let [asked, open] = [0, 0]
  for (let after: string | null = null; ; ) {
    const ids = await run.mirror.unseen('conversations', seenRowsKey, 'open', after, minEvidence)
    if (ids.length === 0) return
    for (const { row } of await rereadByIds(run, stream, ids, 'fresh')) {
      asked += 1
      if (row !== null && (row.columns.handled_at ?? null) === null) open += 1
    }
    after = ids.at(-1) ?? null
    if (open >= minEvidence && open === asked) return recordUnreliableFilter(run)
  }
}

async function recordUnreliableFilter(run: SyncRun): Promise<void> {
  const evidence = `${minEvidence} conversations that are not handled were missing from the list asked for with handled=false`
  const learned = [{ name: unreliableFilter, value: 'unreliable', evidence }]
  await run.mirror.commit({ stream: 'conversations', rows: [], askedAt: run.now(), learned })
  run.notices.add('The service does not list all open conversations: handled flags are right after a reconcile only.')
}
