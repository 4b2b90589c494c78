/**
 * The open conversations, read whole: the one short list where a flag shows that was set or lifted elsewhere. What the
 * mirror holds open and the list does not show has been handled, or is gone: it is asked for by id.
 */

import { everything } from '../core/walk/position.ts'
import { openConversations } from '../streams/conversations.ts'
import type { ListStream } from '../streams/stream.ts'
import type { Run } from './deps.ts'
import { pagesOf } from './pages.ts'
import { readAgain } from './vanished.ts'

const census = 'conversations:open'
const unreliable = 'conversations.handled_filter'

/** So many rows that the filter should have shown, and did not, prove that it cannot be relied upon. */
const enough = 20

export async function readOpenWork(run: Run, stream: ListStream): Promise<void> {
  await run.mirror.forgetCensus(census)
  const list = openConversations(run.project)
  const pass = { stream: stream.name, list, ranges: [everything], lane: 'fresh' } as const
  for await (const read of pagesOf(run, pass)) {
    const { rows, refused: unreadable } = stream.rows(read.items, run.project)
    const refused = [...read.refused, ...unreadable]
    const askedAt = read.answer?.askedAt ?? run.now()
    const news = { rows, refused, askedAt, learned: read.learned }
    const { changed } = await run.mirror.commit({ stream: stream.name, census, ...news })
    run.tally.stored(stream.name, rows.length, changed)
  }
  if ((await run.mirror.behaviours()).get(unreliable) === undefined) await readHandled(run, stream)
  await run.mirror.forgetCensus(census)
}

async function readHandled(run: Run, stream: ListStream): Promise<void> {
  let [asked, open] = [0, 0]
  for (let after: string | null = null; ; ) {
    const ids = await run.mirror.unseen('conversations', census, 'open', after, enough)
    if (ids.length === 0) return
    for (const { row } of await readAgain(run, stream, ids, 'fresh')) {
      asked += 1
      if (row !== null && (row.columns.handled_at ?? null) === null) open += 1
    }
    after = ids.at(-1) ?? null
    if (open >= enough && open === asked) return distrust(run)
  }
}

async function distrust(run: Run): Promise<void> {
  const evidence = `${enough} conversations that are not handled were missing from the list asked for with handled=false`
  const learned = [{ name: unreliable, value: 'unreliable', evidence }]
  await run.mirror.commit({ stream: 'conversations', rows: [], askedAt: run.now(), learned })
  run.notices.add('The service does not list all open conversations: handled flags are right after a reconcile only.')
}
