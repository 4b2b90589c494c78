/** Pages of several readers in one transaction. */
import { describe, expect, test } from 'vitest'
import type { MirrorRow } from '../../schema/row.ts'
import type { ChildStreamName } from '../../schema/stream-specs.ts'
import type { ChildReadResult, CommitResult, MirrorCommit } from '../../src/mirror/core/mirror.ts'
import { createPageCommitter } from '../../src/mirror/sql/commit-page.ts'
import type { Mirror } from '../../src/mirror/sql/mirror.ts'
import type { ProjectContext } from '../../src/mirror/sql/sync-runs.ts'
import { WarehouseError } from '../../src/warehouse/explain-error.ts'
import { databases } from '../support/databases.ts'
import { createTestOnOne } from '../support/sampled.ts'
import { activity, commit, conversation, message, visitor } from './row-fixtures.ts'
import { openTestWarehouse } from './test-warehouse.ts'

const requestedAt = Date.UTC(2026, 6, 1)

function page(
  stream: ChildStreamName,
  parentId: string,
  more: Partial<MirrorCommit & ChildReadResult> = {},
) {
  const { completeness = 'complete', requestedVersion = 1, dueAt = null, why, ...rest } = more
  const childRead = {
    stream,
    parentId,
    requestedVersion,
    cursor: `cursor ${parentId}`,
    completeness,
    dueAt,
  }
  return commit(stream, [], {
    childRead: why === undefined ? childRead : { ...childRead, why },
    requestedAt,
    ...rest,
  })
}

const ids = ['c1', 'c2', 'c3', 'c4', 'c5']

/**
 * Conversations with messages, one of them known to be incomplete and one that could not be read.
 */
async function prepare(mirror: Mirror): Promise<void> {
  const at = { requestedAt: requestedAt - 10 }
  await mirror.commit(commit('visitors', [visitor('v1'), visitor('v2')], at))
  await mirror.commit(
    commit(
      'conversations',
      ids.map((id) => conversation(id)),
      at,
    ),
  )
  await mirror.commit(
    page('messages', 'c2', {
      rows: [message('c2', 1)],
      completeness: 'incomplete',
      why: 'cut',
      ...at,
    }),
  )
  await mirror.commit(page('messages', 'c3', { rows: [message('c3', 1), message('c3', 2)], ...at }))
  await mirror.recordChildFailure('messages', 'c4', 'it failed', requestedAt)
  await mirror.commit(commit('conversations', [conversation('c5', { origin: 'again' })], at))
}

/** Characters of each length, and those that mean something in an array or in JSON. */
const hostile = '"\\{},NULL\n␛é漢🙂'

/**
 * New, changed, unchanged and older rows; a page that is not the last one of its list; two streams.
 */
const pages: readonly MirrorCommit[] = [
  page('messages', 'c1', { rows: Array.from({ length: 30 }, (_, i) => message('c1', i)) }),
  page('messages', 'c2', { rows: [message('c2', 1), message('c2', 2, { content: hostile })] }),
  page('messages', 'c3', {
    rows: [message('c3', 1, { content: 'edited' }), message('c3', 2)],
    completeness: 'unchanged',
  }),
  page('messages', 'c4', { dueAt: 77 }),
  commit('messages', [message('c5', 1)], { requestedAt }),
  page('visitor_activity', 'v1', { rows: [activity('v1', 'hash', 0, { page: '/a', score: 1.5 })] }),
  page('visitor_activity', 'v2', {
    rows: [activity('v2', 'hash', 0, { page: '/b', score: 'high' })],
  }),
]

const tables = {
  messages: 'conversation_id, id',
  visitor_activity: 'visitor_id',
  conversations: 'id',
  sync_children: 'stream, parent_id',
  facts_due: 'kind, id',
}
const gaps =
  'select stream, dedup_key, reason, resolved_at is null as is_open from sync_gaps order by dedup_key'

const testOnOne = createTestOnOne()

for (const db of databases) {
  describe(`pages that are committed together — ${db.name}`, () => {
    testOnOne(
      db.name,
      'store the same as one after the other, and count the same changes',
      async () => {
        const outcomes: unknown[][] = []
        for (const isTogether of [false, true]) {
          const { mirror, all, warehouse } = await openTestWarehouse(db)
          await prepare(mirror)
          const run = await mirror.startRun('incremental', requestedAt)
          await warehouse.query('delete from facts_due')
          const results: CommitResult[] = []
          if (isTogether) results.push(...(await Promise.all(pages.map(mirror.commit))))
          else for (const it of pages) results.push(await mirror.commit(it))
          const stored = Object.entries(tables).map(([name, key]) =>
            all(`select * from ${name} order by ${key}`),
          )
          const escaped = await all('select strings_escaped from sync_runs')
          const outcome = [results, await Promise.all(stored), await all(gaps), escaped]
          outcomes.push(JSON.parse(JSON.stringify(outcome).replaceAll(run, 'run')))
        }
        expect(outcomes[1]).toEqual(outcomes[0])
        expect(JSON.stringify(outcomes[0])).toContain(JSON.stringify(hostile.replace('␛', '␛241b')))
        expect(outcomes[0]?.[0]).toEqual([30, 1, 1, 0, 1, 1, 1].map((changed) => ({ changed })))
      },
    )

    test('are stored without the row that the database rejects, and without one whose key is unreadable', async () => {
      const { mirror, warehouse, list } = await openTestWarehouse(db)
      await prepare(mirror)
      await warehouse.query(rejecting[db.name as keyof typeof rejecting])
      const unstorable = [
        page('messages', 'c1', {
          rows: [message('c1', 1), message('c1', 2, { content: 'rejected' })],
        }),
        page('messages', 'c4', { rows: [message('c4', 1), message('c4', 2n ** 80n)] }),
        page('messages', 'c5', { rows: [message('c5', 1)] }),
      ]
      const results = await Promise.all(unstorable.map(mirror.commit))
      expect(results).toMatchObject([
        { changed: 1, rejectedRows: [{ id: '2' }] },
        { changed: 1, rejectedRows: [{ id: String(2n ** 80n) }] },
        { changed: 1 },
      ])
      const complete =
        'select id from conversations where messages_complete and id in (select conversation_id from messages)'
      expect(await list(`${complete} order by id`)).toEqual(['c3', 'c5'])
    })

    test('of which one cannot be stored, fail alone', async () => {
      const { mirror, list } = await openTestWarehouse(db)
      const gap = { stream: 'messages' as const, from: Number.NaN, to: null, reason: 'no time' }
      const [first, last] = [
        page('messages', 'a', { rows: [message('a', 1)] }),
        page('messages', 'c'),
      ]
      const broken = commit('messages', [message('b', 1)], { gaps: [gap] })
      const results = await Promise.allSettled([first, broken, last].map(mirror.commit))
      expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
      expect(await list('select conversation_id from messages')).toEqual(['a'])
    })

    testOnOne(db.name, 'of one parent are stored in their order', async () => {
      const { mirror, list } = await openTestWarehouse(db)
      const edits = ['first', 'second', 'third'].map((content) => message('a', 1, { content }))
      const results = await Promise.all(
        edits.map((row) => mirror.commit(page('messages', 'a', { rows: [row] }))),
      )
      expect(results).toEqual([{ changed: 1 }, { changed: 1 }, { changed: 1 }])
      expect(await list('select content from messages')).toEqual(['third'])
    })
  })
}

/**
 * Submits pages of these parents, and notes those whose transaction begins; `begin` may fail it or
 * hold it up.
 */
function notedCommits(begin: (parent: string) => Promise<void>) {
  const begun: string[] = []
  const fields = {
    ensureColumns: async (_: unknown, rows: readonly MirrorRow[]) => {
      const parent = String(rows[0]?.columns.conversation_id)
      begun.push(parent)
      await begin(parent)
    },
  }
  let last: Promise<void> = Promise.resolve()
  const runSerially = (write: () => Promise<void>) => {
    last = last.then(write)
    return last
  }
  const submit = createPageCommitter(
    { fields } as unknown as ProjectContext,
    runSerially,
    async () => {},
  )
  return { begun, submit: (parent: string) => submit(commit('messages', [message(parent, 1)])) }
}

test('if the warehouse is away, no page is tried alone', async () => {
  const away = new WarehouseError(
    'cannot use it',
    { why: 'it is away', next: 'wait', exitCode: 1 },
    'unavailable',
    '08',
  )
  const { begun, submit } = notedCommits(() => Promise.reject(away))
  const results = await Promise.allSettled(['a', 'b', 'c'].map(submit))
  expect(results).toEqual(Array(3).fill({ status: 'rejected', reason: away }))
  expect(begun).toEqual(['a'])
})

test('pages that arrive during a transaction are the next one', async () => {
  const [started, running] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const { begun, submit } = notedCommits((parent) => {
    started.resolve()
    return parent === 'a'
      ? running.promise.then(() => Promise.reject(new Error('a fails')))
      : Promise.resolve()
  })
  const first = submit('a')
  await started.promise
  const next = [submit('b'), submit('c')]
  expect(begun).toEqual(['a'])
  running.resolve()
  await Promise.allSettled([first, ...next])
  expect(begun.slice(0, 3)).toEqual(['a', 'b', 'c'])
})

/** No message may have the content `rejected`. */
const rejecting = {
  sqlite: `create trigger rejecting before insert on message_rows when new.content = 'rejected'
    begin select raise(abort, 'rejected'); end`,
  postgres: "alter table message_rows add constraint rejecting check (content <> 'rejected')",
}
