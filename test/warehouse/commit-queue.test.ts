/** Which pages are committed together: decided without a database. */
import { expect, test } from 'vitest'
import type { CommitResult, MirrorCommit } from '../../src/mirror/core/mirror.ts'
import { createCommitQueue, type PageCommits } from '../../src/mirror/sql/commit-queue.ts'
import { createSerialQueue } from '../../src/mirror/sql/project-context.ts'
import { WarehouseError } from '../../src/warehouse/explain-error.ts'
import { commit, conversation, message } from './row-fixtures.ts'

const page = (parent: string, activeReaders: number, more: Partial<MirrorCommit> = {}): MirrorCommit =>
  commit('messages', [message(parent, 1)], { activeReaders: () => activeReaders, ...more })

const parentsOf = (pages: readonly MirrorCommit[]) => pages.map(({ rows }) => String(rows[0]?.columns.conversation_id))

/** A queue that notes the parents of each transaction. */
function notedQueue(commits: Partial<PageCommits> = {}) {
  const transactions: string[][] = []
  const done: CommitResult = { changed: 1 }
  const submit = createCommitQueue({
    alone: async (single) => {
      transactions.push(parentsOf([single]))
      return done
    },
    together: async (pages) => {
      transactions.push(parentsOf(pages))
      return pages.map(() => done)
    },
    runSerially: createSerialQueue(),
    ...commits,
  })
  return { submit, transactions }
}

test('pages wait until half of the readers have one, and are then one transaction', async () => {
  const { submit, transactions } = notedQueue()
  await Promise.all(['a', 'b', 'c', 'd'].map((parent) => submit(page(parent, 8))))
  expect(transactions).toEqual([['a', 'b', 'c', 'd']])
})

test('the page of a single reader does not wait', async () => {
  const { submit, transactions } = notedQueue({ runSerially: (write) => write() })
  void submit(page('a', 1))
  expect(transactions).toEqual([['a']])
})

test('a page waits 50 ms for others at most', async () => {
  const { submit, transactions } = notedQueue()
  const began = performance.now()
  await submit(page('a', 16))
  expect(transactions).toEqual([['a']])
  expect(performance.now() - began).toBeGreaterThan(45)
})

test('pages with a thousand rows do not wait for more', async () => {
  const { submit, transactions } = notedQueue()
  const pageOf = (parent: string) =>
    page(parent, 16, { rows: Array.from({ length: 500 }, (_, i) => message(parent, i)) })
  await Promise.all([submit(pageOf('a')), submit(pageOf('b'))])
  expect(transactions).toEqual([['a', 'b']])
})

test('pages with some megabytes neither wait for more nor share a transaction', async () => {
  const { submit, transactions } = notedQueue()
  const content = ' '.repeat(4_000_000)
  const pages = ['a', 'b', 'c'].map((parent) => page(parent, 16, { rows: [message(parent, 1, { content })] }))
  await Promise.all(pages.map(submit))
  expect(transactions).toEqual([['a'], ['b'], ['c']])
})

test('pages that arrive during a transaction are the next one', async () => {
  const [started, running] = [Promise.withResolvers<void>(), Promise.withResolvers<CommitResult>()]
  const { submit, transactions } = notedQueue({
    alone: () => {
      started.resolve()
      return running.promise
    },
  })
  const first = submit(page('a', 1))
  await started.promise
  const next = [submit(page('b', 1)), submit(page('c', 1))]
  running.resolve({ changed: 1 })
  await Promise.all([first, ...next])
  expect(transactions).toEqual([['b', 'c']])
})

test('two pages of one parent are two transactions, in their order', async () => {
  const { submit, transactions } = notedQueue()
  await Promise.all(['a', 'b', 'a'].map((parent) => submit(page(parent, 6))))
  expect(transactions).toEqual([['a', 'b'], ['a']])
})

test('if pages cannot be committed together, each is tried alone, and fails alone', async () => {
  const alone: PageCommits['alone'] = async (single) => {
    if (parentsOf([single])[0] === 'b') throw new Error('b fails')
    return { changed: 7 }
  }
  for (const together of [() => Promise.reject(new Error('all fail')), () => Promise.resolve(null)]) {
    const { submit } = notedQueue({ alone, together })
    const results = await Promise.allSettled(['a', 'b', 'c'].map((parent) => submit(page(parent, 6))))
    expect(results).toEqual([
      { status: 'fulfilled', value: { changed: 7 } },
      { status: 'rejected', reason: new Error('b fails') },
      { status: 'fulfilled', value: { changed: 7 } },
    ])
  }
})

test('if the warehouse is away, no page is tried alone, and its readers try again together', async () => {
  const away = new WarehouseError(
    'cannot use it',
    { why: 'it is away', next: 'wait', exitCode: 1 },
    'unavailable',
    '08',
  )
  let tries = 0
  const { submit, transactions } = notedQueue({
    alone: () => Promise.reject(new Error('tried alone')),
    together: async (pages) => {
      if (++tries === 1) throw away
      transactions.push(parentsOf(pages))
      return pages.map(() => ({ changed: 1 }))
    },
  })
  const readers = ['a', 'b', 'c'].map(async (parent) => {
    await expect(submit(page(parent, 3))).rejects.toBe(away)
    return submit(page(parent, 3))
  })
  await Promise.all(readers)
  expect(transactions.flat().toSorted()).toEqual(['a', 'b', 'c'])
})

const incomplete = {
  parentId: 'a',
  requestedVersion: 1,
  cursor: null,
  completeness: 'incomplete',
  dueAt: null,
} as const
const alonePages: Readonly<Record<string, MirrorCommit>> = {
  'a list': commit('conversations', [conversation('a')]),
  'a gap': page('a', 16, { gaps: [{ stream: 'messages', from: 1, to: 1, reason: 'full' }] }),
  'a closed gap': page('a', 16, { resolvedGapKeys: ['k'] }),
  'a rejected row': page('a', 16, { rejectedRows: [{ id: null, why: 'unreadable' }] }),
  'an observation': page('a', 16, { observations: [{ name: 'n', value: 'v', evidence: 'e' }] }),
  'a cursor': page('a', 16, { cursors: { messages: 'x' } }),
  'an incomplete list': page('a', 16, { childRead: { stream: 'messages', ...incomplete } }),
}

for (const [name, single] of Object.entries(alonePages)) {
  test(`a page that stores ${name} is committed alone and at once`, async () => {
    const { submit, transactions } = notedQueue({ runSerially: (write) => write() })
    void submit(single)
    expect(transactions).toHaveLength(1)
  })
}
