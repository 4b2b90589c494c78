/**
 * Messages are stored without what their columns hold, and `messages` shows them as the service
 * sent them.
 */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openMirror } from '../../src/app/facts.ts'
import { fieldsNotInColumns } from '../../src/mirror/core/message-fields.ts'
import { messages } from '../../src/mirror/core/streams.ts'
import type { Mirror } from '../../src/mirror/sql/mirror.ts'
import { type Json, type JsonObject, parseJson, stringifyJson } from '../../src/values/json.ts'
import { decodeJson } from '../../src/warehouse/escape.ts'
import { databases } from '../support/databases.ts'
import { commit } from './row-fixtures.ts'
import { openTestWarehouse } from './test-warehouse.ts'

const plain = {
  id: 7,
  conversationId: 'c',
  senderType: 'agent',
  kind: 'utterance',
  content: 'Hello',
  senderDisplayName: 'Ann',
  createdAt: '2026-08-31T10:02:11Z',
}

const asStored = (item: JsonObject) => messages.parseRows([item], 'c').rows[0]?.storedRaw

const stored: readonly (readonly [name: string, item: JsonObject, raw: Json])[] = [
  ['nothing of a documented message', plain, {}],
  ['an undocumented field', { ...plain, tags: ['a'] }, { tags: ['a'] }],
  [
    'a null, which a missing field is not',
    { ...plain, senderDisplayName: null },
    { senderDisplayName: null },
  ],
  [
    'a time with milliseconds',
    { ...plain, createdAt: '2026-08-31T10:02:11.000Z' },
    { createdAt: '2026-08-31T10:02:11.000Z' },
  ],
  [
    'a day that does not exist',
    { ...plain, createdAt: '2026-02-30T10:02:11Z' },
    { createdAt: '2026-02-30T10:02:11Z' },
  ],
  ['a text with a NUL', { ...plain, content: '\0' }, { content: '\0' }],
  ['half of a surrogate pair', { ...plain, content: '\ud800' }, { content: '\ud800' }],
  ['the character that marks an escape', { ...plain, content: '␛0000' }, { content: '␛0000' }],
  [
    'a value of another type',
    { ...plain, kind: 5, content: { a: 1 } },
    { kind: 5, content: { a: 1 } },
  ],
  [
    'another conversation than the one asked for',
    { ...plain, conversationId: 'C' },
    { conversationId: 'C' },
  ],
]

for (const [name, item, raw] of stored) {
  test(`what is stored as JSON is ${name}`, () =>
    expect(parseJson(asStored(item) ?? '')).toEqual(raw))
}

const { conversationId: _, ...withoutConversation } = plain
for (const item of [withoutConversation, { ...plain, id: '7' }, { ...plain, id: 2n ** 70n }]) {
  test(`all of a message is stored whose columns hold something else: ${stringifyJson(item).slice(0, 40)}`, () =>
    expect(parseJson(asStored(item) ?? '')).toEqual([item]))
}

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '',
    '\0',
    'a\0b',
    '␛',
    '␛0000',
    '\ud800',
    '\u{1f600}',
    'null',
    '"\\{},',
    'NULL',
    "'",
    '2026-01-01T00:00:00Z',
  ),
)
const scalar = fc.oneof(
  text,
  fc.integer(),
  fc.constantFrom(null, true, false, 1.5, -0.25, 2n ** 53n + 1n, 2n ** 70n),
)
const nested = fc.oneof(
  scalar,
  fc.array(scalar),
  fc.dictionary(fc.constantFrom('a', 'b', '__proto__', 'a.b'), scalar),
)
const time = fc.constantFrom(
  '2026-08-31T10:02:11Z',
  '2026-08-31T10:02:11.5Z',
  '2026-08-31T12:02:11+02:00',
  '2026-02-30T10:02:11Z',
  '0000-01-01T00:00:00Z',
  '2016-12-31T23:59:60Z',
  '9999-12-31T23:59:59Z',
  'yesterday',
)
/** Each field mostly as documented, else anything or missing. */
const field = (documented: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 6, arbitrary: documented }, nested)
const hostileFields = fc.record(
  {
    conversationId: field(fc.constant('c')),
    senderType: field(fc.constantFrom('agent', 'visitor')),
    kind: field(fc.constant('utterance')),
    content: field(text),
    senderDisplayName: field(text),
    createdAt: field(time),
    tags: nested,
    '': nested,
    "it's": nested,
    raw: nested,
  },
  { requiredKeys: [] },
)
const id = (n: number) => fc.constantFrom<Json>(n, n, n, n, BigInt(n) + 2n ** 60n, String(n))

/** Messages with ids of their own, as a response has them. */
const hostileMessages: readonly JsonObject[] = Array.from({ length: 400 }, (_, n) => {
  const [item] = fc
    .sample(fc.tuple(id(n), hostileFields), { seed: n, numRuns: 1 })
    .map(([it, rest]) => ({ id: it, ...rest }))
  return parseJson(stringifyJson(item as JsonObject)) as JsonObject
})

type ReadMirror = Mirror

async function readAll(mirror: ReadMirror): Promise<Map<string, Json>> {
  const found = new Map<string, Json>()
  for (let after: readonly string[] | null = null; ; ) {
    const rows = await mirror.readRows('messages', after, 500)
    for (const { key, raw } of rows) found.set(key.join(), parseJson(raw))
    after = rows.at(-1)?.key ?? null
    if (after === null) return found
  }
}

for (const db of databases) {
  test(`hostile messages are read back as they were sent — ${db.name}`, async () => {
    const { mirror, all, database } = await openTestWarehouse(db, 'freeze')
    const { rows } = messages.parseRows(hostileMessages, 'c')
    const { rejectedRows = [] } = await mirror.commit(commit('messages', rows))
    const unstored = new Set(rejectedRows.map((row) => row.id))
    const sent = rows.filter((row) => !unstored.has(String(row.columns.id)))
    expect(sent.length).toBeGreaterThan(350)
    const expected = new Map(
      sent.map((row) => [`c,${row.columns.id}`, parseJson(stringifyJson(row.item))]),
    )
    expect(await readAll(mirror)).toEqual(expected)
    const shown = await all('select conversation_id, id, cast(raw as text) as raw from messages')
    const read = (raw: unknown) => parseJson(decodeJson(database.kind, String(raw)))
    expect(
      new Map(shown.map((row) => [`${row.conversation_id},${row.id}`, read(row.raw)])),
    ).toEqual(expected)
  })

  test(`a message with as many levels as a row may have is read back, in whatever form it is stored — ${db.name}`, async () => {
    const { mirror } = await openTestWarehouse(db)
    let nest: Json = 'deep'
    for (let level = 1; level < 1000; level++) nest = [nest]
    const items = [plain, { ...plain, id: '8' }].map((item) => ({ ...item, nest }))
    await mirror.commit(commit('messages', messages.parseRows(items, 'c').rows))
    expect([...(await readAll(mirror)).values()]).toEqual(items)
  })

  test(`messages can be inserted, updated and deleted by hand — ${db.name}`, async () => {
    const { mirror, all, list, one } = await openTestWarehouse(db)
    await mirror.commit(
      commit('messages', messages.parseRows([{ ...plain, mood: 'glad' }], 'c').rows),
    )
    const rawOf = async (id: number) =>
      parseJson(
        String((await one(`select cast(raw as text) as raw from messages where id = ${id}`)).raw),
      )
    await all("update messages set content = 'Bye' where content = 'Hello'")
    expect(await rawOf(7)).toEqual({ ...plain, content: 'Bye', mood: 'glad' })
    const again = {
      ...commit('messages', messages.parseRows([{ ...plain, mood: 'glad' }], 'c').rows),
      requestedAt: 2e12,
    }
    expect(await mirror.commit(again)).toMatchObject({ changed: 1 })
    expect(await rawOf(7)).toEqual({ ...plain, mood: 'glad' })
    await all(
      `update messages set raw = '{"no":"id"}', mood = 'sad', deleted_at = '2026-09-01T00:00:00Z' where id = 7`,
    )
    expect(await rawOf(7)).toEqual({ no: 'id' })
    expect(await list('select mood from messages where deleted_at is not null')).toEqual(['sad'])
    await all("update messages set content = 'Ciao'")
    expect(await rawOf(7)).toEqual({ no: 'id' })
    await all(`insert into messages (project_id, conversation_id, id, raw, synced_at, asked_at, content)
      values ('main', 'c', 8, '{"id":"8"}', '2026-09-01T00:00:00Z', 1, 'New'), ('main', 'c', 9, null, '2026-09-01T00:00:00Z', 1, 'New')`)
    expect([await rawOf(8), await rawOf(9)]).toEqual([
      { id: '8' },
      { id: 9, conversationId: 'c', content: 'New' },
    ])
    await all("update messages set run_id = 'none' where id = 9")
    await all('delete from messages where id < 9')
    expect((await list('select id from message_rows')).map(Number)).toEqual([9])
  })
}

for (const db of databases) {
  test(`a changed column is a change, although nothing else is stored — ${db.name}`, async () => {
    const { mirror, list } = await openTestWarehouse(db)
    const commitWith = (content: string) =>
      mirror.commit(commit('messages', messages.parseRows([{ ...plain, content }], 'c').rows))
    expect([await commitWith('a'), await commitWith('b'), await commitWith('b')]).toMatchObject(
      [1, 1, 0].map((changed) => ({ changed })),
    )
    expect(await list('select content from messages')).toEqual(['b'])
  })

  test(`a column that is added later is filled, and one whose type changes keeps its values — ${db.name}`, async () => {
    const { warehouse, mirror, list } = await openTestWarehouse(db, 'freeze')
    const commitTo = (to: ReadMirror, id: number, fields: JsonObject) =>
      to.commit(commit('messages', messages.parseRows([{ ...plain, id, ...fields }], 'c').rows))
    await commitTo(mirror, 7, { mood: 'glad', score: 1 })
    const discovering = openMirror(warehouse, 'main')
    await commitTo(discovering, 8, { mood: 'sad', score: 2 })
    await discovering.startRun('incremental', 1)
    expect(await list('select mood from messages order by id')).toEqual(['glad', 'sad'])
    await commitTo(discovering, 9, { mood: 'sad', score: 'three' })
    await discovering.startRun('incremental', 1)
    const [column] = await list("select column_name from discovered_fields where path = 'score'")
    expect(await list(`select ${column} from messages order by id`)).toEqual(['1', '2', 'three'])
  })
}

test('a column of another conversation is no field of the message', () => {
  expect(fieldsNotInColumns(plain, { id: 7, conversation_id: 'other' })).toContain(
    '"conversationId":"c"',
  )
})
