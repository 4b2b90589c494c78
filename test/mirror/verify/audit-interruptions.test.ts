/** Audits that are interrupted, or whose service fails: what they then say is never too good. */

import { expect, onTestFinished, test } from 'vitest'
import { openMirror } from '../../../src/app/facts.ts'
import type { Warehouse } from '../../../src/app/open.ts'
import { listStreams } from '../../../src/mirror/core/streams.ts'
import { createAuditStore } from '../../../src/mirror/sql/audits.ts'
import { type AuditDeps, runAudit } from '../../../src/mirror/verify/audit.ts'
import { ApiError } from '../../../src/service/core/api-failure.ts'
import type { ApiGet } from '../../../src/service/core/api-request.ts'
import type { Json } from '../../../src/values/json.ts'
import { databases } from '../../support/databases.ts'
import { keepAll } from '../../support/stored-items.ts'
import { commit, message } from '../../warehouse/row-fixtures.ts'

const conversation = (id: string, origin = 'visitor') => ({
  id,
  createdAt: '2026-01-01T00:00:00Z',
  origin,
})
const idsOf = (count: number) =>
  Array.from({ length: count }, (_, n) => `c${String(n).padStart(3, '0')}`)

/** A mirror of conversations, of which those in `wrong` are not as the service has them. */
async function mirrorOf(
  ids: readonly string[],
  wrong: readonly string[] = [],
  db = databases[0]!,
): Promise<Warehouse> {
  const database = await db.makeForSandbox()
  onTestFinished(database.drop)
  const warehouse = await database.open()
  const items = ids.map((id) => conversation(id, wrong.includes(id) ? 'wrong' : undefined))
  await openMirror(warehouse, 'p').commit(
    commit('conversations', listStreams.conversations.parseRows(items).rows),
  )
  return warehouse
}

const idOf = (path: string) => path.split('/')[3] ?? ''

/** A service that has all conversations, and no messages. */
const serve = (answer: (id: string) => Json = (id) => conversation(id)): ApiGet => {
  const response = {
    status: 200,
    requestId: null,
    serverDate: null,
    cursorLimit: 0,
    requestedAt: Date.now() + 60_000,
  }
  return async (path) => ({
    ...response,
    data: path.endsWith('/messages') ? { items: [], hasMore: false } : answer(idOf(path)),
  })
}

const failing = () => {
  throw new ApiError({
    kind: 'transient',
    why: 'HTTP 500',
    mayHaveBeenSent: true,
    status: 500,
    requestId: null,
  })
}

const notFound = () => {
  const refused = {
    kind: 'refused',
    status: 404,
    code: 'NOT_FOUND',
    why: 'no such row',
    fields: [],
  } as const
  throw new ApiError({ ...refused, requestId: null })
}

type Audited = Partial<Omit<AuditDeps, 'get'>> & { readonly get?: ApiGet }

function auditOf(warehouse: Warehouse, { get = serve(), ...over }: Audited = {}) {
  const deps: AuditDeps = {
    projectId: 'p',
    streams: new Set(['conversations']),
    startDate: null,
    get: keepAll(get),
    mirror: openMirror(warehouse, 'p'),
    store: createAuditStore(warehouse.projectDb('p')),
    sampleSize: 1000,
    // Draws in the order of the ids.
    random: () => 1 - Number.EPSILON,
    requestCount: () => 0,
    now: Date.now,
    signal: new AbortController().signal,
    catchUp: async () => {},
    ...over,
  }
  return runAudit(deps, 'conversations')
}

const counts = async (warehouse: Warehouse) =>
  (await createAuditStore(warehouse.projectDb('p')).listFinished(0)).map(
    ({ compared, differing, gone, unreadable }) => [compared, differing, gone, unreadable],
  )

const isWrong = async (warehouse: Warehouse, id: string) =>
  (await warehouse.query(`select origin from conversations where id = '${id}'`))[0]?.origin ===
  'wrong'

test.for(databases)(
  'an audit that ends early has stored and corrected nothing — $name',
  async (db) => {
    const warehouse = await mirrorOf(idsOf(3), ['c001'], db)
    const catchUp = () => Promise.reject(new Error('killed'))
    await expect(auditOf(warehouse, { catchUp })).rejects.toThrow('killed')
    const stop = new AbortController()
    const interrupted = auditOf(warehouse, {
      signal: stop.signal,
      catchUp: async () => stop.abort(),
    })
    await expect(interrupted).rejects.toMatchObject({ failure: { kind: 'aborted' } })
    expect([await counts(warehouse), await isWrong(warehouse, 'c001')]).toEqual([[], true])
    const { result, differences } = await auditOf(warehouse)
    const difference = {
      stream: 'conversations',
      key: 'c001',
      kind: 'different',
      fields: ['origin'],
    }
    expect(differences).toEqual([difference])
    expect([await counts(warehouse), await isWrong(warehouse, 'c001')]).toEqual([
      [[3, 1, 0, 0]],
      false,
    ])
    const store = createAuditStore(warehouse.projectDb('p'))
    expect(await store.listFinished(0)).toEqual([result])
    expect(result).toMatchObject({ drawn: 3, population: 3, corrected: 1 })
    expect(await store.listDifferences('conversations', 9)).toEqual([
      { ...difference, storedHash: expect.stringMatching(/^[0-9a-f]{16}$/) },
    ])
  },
)

test('an audit that takes too long ends with what it has read', async () => {
  const warehouse = await mirrorOf(idsOf(100))
  let reads = 0
  const get = serve((id) => {
    reads += 1
    return conversation(id)
  })
  const now = () => Date.now() + (reads < 40 ? 0 : 24 * 3_600_000)
  const { result } = await auditOf(warehouse, { get, now })
  expect(result).toMatchObject({ population: 100, drawn: 100, compared: 40 })
})

test('a row that the service once did not find, and then does, is not deleted', async () => {
  const warehouse = await mirrorOf(idsOf(3))
  let reads = 0
  const get = serve((id) => (id === 'c001' && ++reads === 1 ? notFound() : conversation(id)))
  const { result } = await auditOf(warehouse, { get })
  expect(result).toMatchObject({ compared: 3, differing: 0, gone: 0 })
})

test('a person who is erased meanwhile is neither counted nor named', async () => {
  const warehouse = await mirrorOf(idsOf(3), ['c001'])
  const catchUp = async () => {
    await warehouse.query(`insert into erased_ids (project_id, id) values ('p', 'c001')`)
  }
  const { result, differences } = await auditOf(warehouse, { catchUp })
  expect(result).toMatchObject({ compared: 2, differing: 0, unreadable: 1 })
  expect(differences).toEqual([])
})

test('what the service no longer shows cannot be corrected, and is not said to be', async () => {
  const warehouse = await mirrorOf(idsOf(3))
  await openMirror(warehouse, 'p').commit(commit('messages', [message('c001', 7)]))
  const { result } = await auditOf(warehouse, { streams: new Set(['conversations', 'messages']) })
  expect(result).toMatchObject({ compared: 3, differing: 1, corrected: 0 })
})

test('a row that differed and cannot be read again counts as differing', async () => {
  const warehouse = await mirrorOf(idsOf(3), ['c001'])
  let reads = 0
  const get = serve((id) => (id === 'c001' && ++reads > 1 ? failing() : conversation(id)))
  expect(await auditOf(warehouse, { get })).toMatchObject({
    result: { compared: 3, differing: 1, unreadable: 0 },
  })
})

test('a conversation whose messages could not all be read does not count as compared', async () => {
  const warehouse = await mirrorOf(idsOf(3))
  const get: ApiGet = async (path, ...rest) => {
    const response = await serve()(path, ...rest)
    const isUnusable = idOf(path) === 'c001' && path.endsWith('/messages')
    return isUnusable
      ? { ...response, data: { items: [{ content: 'without an id' }], hasMore: false } }
      : response
  }
  const { result } = (await auditOf(warehouse, {
    get,
    streams: new Set(['conversations', 'messages']),
  })) as never
  expect(result).toMatchObject({ compared: 2, differing: 0, unreadable: 1 })
})

test('a row that the service never lets be read does not keep the audit from ending, wherever it was drawn', async () => {
  const warehouse = await mirrorOf(idsOf(41))
  const get = serve((id) => (id === 'c040' ? failing() : conversation(id)))
  expect(await auditOf(warehouse, { get })).toMatchObject({
    result: { compared: 40, unreadable: 1 },
  })
})

test('an audit fails if the service fails for all rows', async () => {
  const warehouse = await mirrorOf(idsOf(3), ['c001'])
  await expect(auditOf(warehouse, { get: serve(failing) })).rejects.toThrow('HTTP 500')
  expect(await counts(warehouse)).toEqual([])
})

test('a service that suddenly finds none of its rows does not have them marked as deleted', async () => {
  const warehouse = await mirrorOf(idsOf(40))
  expect(await auditOf(warehouse, { get: serve(notFound) })).toMatchObject({
    result: { compared: 0, gone: 40 },
  })
  const [deleted] = await warehouse.query(
    'select count(*) as n from conversations where deleted_at is not null',
  )
  expect(Number(deleted?.n)).toBe(0)
})
