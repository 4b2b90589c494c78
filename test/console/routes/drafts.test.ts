/** Writing to a conversation over HTTP: what becomes a draft, once, and for whom. */

import { describe, expect, test } from 'vitest'
import { openMirror } from '../../../src/app/facts.ts'
import type { Warehouse } from '../../../src/app/open.ts'
import { createOutbox } from '../../../src/outbox/sql/outbox.ts'
import { createAuditLog } from '../../../src/warehouse/audit-log.ts'
import {
  commit,
  commitRows,
  conversation,
  idOf,
  message,
  timeAt,
  visitor,
} from '../../warehouse/row-fixtures.ts'
import {
  fieldsOf,
  formBody,
  ownForm,
  people,
  person,
  startConsole,
  useConsole,
} from './console-server.ts'

const ada = 'ada00000-0000-4000-8000-000000000001'
const handled = { handled_at: timeAt(9) }

/** Conversations of a visitor, each with one message. */
async function fill(warehouse: Warehouse) {
  const columns = (n: number) => ({
    visitor_id: n < 50 ? ada : idOf(1000 + n),
    ...(n === 40 ? handled : {}),
  })
  const ids = Array.from({ length: 70 }, (_, n) => n)
  await commitRows(openMirror(warehouse, 'main'), {
    visitors: [visitor(ada)],
    conversations: ids.map((n) => conversation(idOf(n), columns(n))),
    messages: ids.map((n) => message(idOf(n), 1, { sender_type: 'visitor' })),
  })
}

const console = useConsole(fill)
let conversations = 0
/** Each test has conversations of its own, with visitors of their own. */
const newConversation = () => idOf(50 + conversations++)

type Fields = Record<string, string>

const sentOf = (text: string) => fieldsOf(text, 'key|expect|sender')

async function open(id: string, name = 'olga', at = console) {
  const headers = { cookie: await at.signIn(name) }
  const { text } = await at.ask(`/console/p/main/conversations/${id}`, { headers })
  return { text, headers, fields: sentOf(text) }
}

/** The page of a conversation, and its form sent any number of times. */
async function write(id: string, draft: Fields, name = 'olga', at = console) {
  const { headers, fields } = await open(id, name, at)
  const send = (more: Fields = {}) => {
    const body = formBody({
      kind: 'reply',
      content: 'It is on its way.',
      ...fields,
      ...draft,
      ...more,
    })
    const options = { method: 'POST', headers: { ...headers, ...ownForm }, body } as const
    return at.ask(`/console/p/main/conversations/${id}`, options)
  }
  return { send, again: (location: string) => at.ask(location.replace(/#.*/, ''), { headers }) }
}

const outbox = () => createOutbox(console.warehouse.projectDb('main'))
const draftsOf = async (target: string) =>
  (await outbox().list({ target }, 10)).map(({ operation, payload, status, expect: seen }) => [
    ...[operation, status, seen],
    payload,
  ])

describe('a draft', () => {
  test('is a row of the batch that the person has for the day', async () => {
    const [first, second] = [newConversation(), newConversation()]
    const { send, again } = await write(first, { sender: 'Olga', andHandled: 'yes' })
    const sent = await send({ content: 'Dear Bo,\r\nit is on its way.' })
    expect([sent.status, sent.headers.location]).toEqual([
      303,
      expect.stringMatching(/drafted=.*#write$/),
    ])
    expect((await again(String(sent.headers.location))).text).toMatch(
      /Added to <a [^>]*>olga’s drafts, \d+ \w+<\/a>/,
    )
    expect(await draftsOf(first)).toEqual([
      ['message', 'draft', '1', { content: 'Dear Bo,\nit is on its way.', sender_name: 'Olga' }],
      ['handled', 'draft', '1', { handled: true }],
    ])
    await (await write(second, {})).send()
    await (await write(second, {}, 'ann')).send({ content: 'Another one.' })
    const of = async (target: string) =>
      (await outbox().list({ target }, 10)).map(({ batchId }) => batchId)
    // Each form would have a first row.
    expect((await outbox().list({ target: second }, 10)).map(({ sourceRow }) => sourceRow)).toEqual(
      [null, null],
    )
    const [batch, same] = [...(await of(first)), ...(await of(second))].filter(
      (_, row) => row !== 1,
    )
    expect(same).toBe(batch)
    expect(new Set(await of(second)).size).toBe(2)
    expect(await outbox().findBatch(batch ?? '')).toMatchObject({
      createdBy: 'olga',
      rows: 3,
      state: 'draft',
    })
    const events = (await createAuditLog(console.warehouse.db).list(null, 20)).filter(
      (it) => it.action === 'drafted',
    )
    expect(
      events.map((it) => [it.person, it.role, it.subject === batch, it.count, it.detail]),
    ).toEqual([
      ['ann', 'approver', false, 1, `reply · conversation ${second}`],
      ['olga', 'operator', true, 1, `reply · conversation ${second}`],
      ['olga', 'operator', true, 2, `reply · conversation ${first}`],
    ])
  })

  test.for([
    ['note', ada, 0, { kind: 'note' }, ['note', 'draft', '1', { content: 'It is on its way.' }]],
    ['flag', idOf(1), 1, { kind: 'handled' }, ['handled', 'draft', '1', { handled: true }]],
    [
      'flag that reopens',
      idOf(40),
      40,
      { kind: 'reopen' },
      ['handled', 'draft', '1', { handled: false }],
    ],
  ] as const)('may be a %s, which waits once', async ([, target, n, draft, expected]) => {
    expect((await (await write(idOf(n), draft)).send()).status).toBe(303)
    const repeated = await (await write(idOf(n), draft, 'ann')).send()
    expect([repeated.status, repeated.text.includes('The same is already waiting')]).toEqual([
      422,
      true,
    ])
    expect(await draftsOf(target)).toEqual([expected])
  })

  test('is queued once, however often its form is sent', async () => {
    const id = newConversation()
    const { send } = await write(id, {})
    const sent = await Promise.all([send(), send(), send()])
    expect([...sent, await send()].map(({ status }) => status)).toEqual([303, 303, 303, 303])
    const other = await send({ content: 'Other words.' })
    expect([
      other.status,
      other.text.includes('This form was sent before with other content'),
    ]).toEqual([422, true])
    expect(await draftsOf(id)).toHaveLength(1)
    expect((await open(id)).text).toContain('It is on its way.')
  })

  test('with words that went to the conversation before is refused, unless the person says so', async () => {
    const id = newConversation()
    await (await write(id, {})).send()
    const repeated = await (await write(id, {})).send()
    expect([repeated.status, repeated.text]).toEqual([
      422,
      expect.stringContaining('The same words are queued for the same conversation.'),
    ])
    expect(repeated.text).toContain('name="allowDuplicates"')
    expect((await (await write(id, {})).send({ allowDuplicates: 'yes' })).status).toBe(303)
    expect(await draftsOf(id)).toHaveLength(2)
  })

  test('with a mistake is refused, and its words stay', async () => {
    const id = newConversation()
    const { send } = await write(id, {})
    const empty = await send({ content: ' ', sender: 'Olga' })
    expect([empty.status, empty.text]).toEqual([
      422,
      expect.stringContaining('Nothing was queued. <bdi>The text is empty.'),
    ])
    const long = await send({ sender: 'x'.repeat(301) })
    expect(long.text).toMatch(
      /The name is longer than 300 characters[\s\S]*It is on its way\.<\/textarea>/,
    )
    expect((await send({ key: 'x' })).status).toBe(400)
    expect(await draftsOf(id)).toEqual([])
  })

  test('is refused if the visitor has written since, and its approval shows if that happens later', async () => {
    const id = newConversation()
    const { send } = await write(id, {})
    const say = async (n: number) => {
      const written = message(id, n, { sender_type: 'visitor', created_at: timeAt(n) })
      await openMirror(console.warehouse, 'main').commit(commit('messages', [written]))
    }
    await say(7)
    const late = await send()
    expect([late.status, late.text]).toEqual([
      422,
      expect.stringContaining('The visitor has written since'),
    ])
    expect((await send(sentOf(late.text))).status).toBe(303)
    await say(8)
    const [{ batchId } = { batchId: '' }] = await outbox().list({ target: id }, 1)
    const { headers } = await open(id)
    const { text } = await console.ask(`/console/p/main/batches/${batchId}?would=stands_against`, {
      headers,
    })
    expect(text).toMatch(/a visitor has written|the visitor has written/i)
  })

  test('expects a message of the longest id, and older ones are read before it', async () => {
    const id = newConversation()
    const longest = '9007199254740993007'
    await openMirror(console.warehouse, 'main').commit(
      commit('messages', [message(id, 7), message(id, BigInt(longest))]),
    )
    const { send } = await write(id, {})
    expect((await send()).status).toBe(303)
    expect((await draftsOf(id)).map(([, , seen]) => seen)).toEqual([longest])
    const { headers } = await open(id)
    const older = await console.ask(`/console/p/main/conversations/${id}?before=${longest}`, {
      headers,
    })
    expect([older.text.includes('message 7'), older.text.includes(`message ${longest}`)]).toEqual([
      true,
      false,
    ])
  })

  test('joins no batch that was stopped', async () => {
    const drafted = async () => {
      const id = newConversation()
      expect((await (await write(id, {}, 'ann')).send()).status).toBe(303)
      return (await outbox().list({ target: id }, 1))[0]?.batchId
    }
    const first = await drafted()
    await console.warehouse.query(
      `update writeback_batches set stopped_at = created_at where id = '${first}'`,
    )
    const second = await drafted()
    expect([first === second, await drafted()]).toEqual([false, second])
  })

  test('expects the last message that is still there', async () => {
    const id = newConversation()
    const messages = [message(id, 921, {}), message(id, 922, {})]
    await openMirror(console.warehouse, 'main').commit(commit('messages', messages))
    await console.warehouse.query(`update messages set deleted_at = '${timeAt(9)}' where id = 922`)
    expect((await open(id)).fields).toMatchObject({ expect: '921' })
  })
})

test('a message of the visitor that was deleted keeps nobody from writing', async () => {
  const id = newConversation()
  await openMirror(console.warehouse, 'main').commit(
    commit('messages', [message(id, 3, { sender_type: 'visitor' })]),
  )
  await console.warehouse.query(
    `update messages set deleted_at = synced_at where conversation_id = '${id}' and id = 3`,
  )
  expect((await (await write(id, {})).send()).status).toBe(303)
  expect((await draftsOf(id)).map(([, , seen]) => seen)).toEqual(['1'])
})

test('a reply to a conversation without messages is not sent if the visitor has written', async () => {
  const id = idOf(900)
  const main = openMirror(console.warehouse, 'main')
  await main.commit(commit('conversations', [conversation(id, { visitor_id: ada })]))
  expect((await (await write(id, {}, 'ann')).send()).status).toBe(303)
  await main.commit(commit('messages', [message(id, 1, { sender_type: 'visitor' })]))
  const [{ batchId } = { batchId: '' }] = await outbox().list({ target: id }, 1)
  const { headers } = await open(id, 'ann')
  const { text } = await console.ask(`/console/p/main/batches/${batchId}?would=stands_against`, {
    headers,
  })
  expect(text).toMatch(/a visitor wrote/)
})

describe('the form', () => {
  const post = { kind: 'reply', key: crypto.randomUUID(), content: 'Words.', sender: 'Vera' }
  const hal = person('hal', 'operator', true)

  test('is for those who may draft and read; the others see why', async () => {
    const all = await startConsole(fill, {
      access: { people: () => [...people, hal], httpToken: null },
    })
    for (const [name, why] of [
      ['vera', 'people with the role operator; yours is viewer'],
      ['hal', 'Who may not read messages cannot answer them'],
    ] as const) {
      const { text } = await open(idOf(1), name, all)
      expect([text.includes(why), text.includes('data-write')]).toEqual([true, false])
      expect((await (await write(idOf(1), post, name, all)).send()).status).toBe(403)
    }
    expect(await createOutbox(all.warehouse.projectDb('main')).countByStatus({})).toEqual({})
  })

  test('is not there where nothing is written', async () => {
    const closed = await startConsole(fill, { readOnly: true })
    const { text } = await open(idOf(1), 'ann', closed)
    expect([
      text.includes('Nothing can be written from here'),
      text.includes('data-write'),
    ]).toEqual([true, false])
    expect((await (await write(idOf(1), post, 'ann', closed)).send()).status).toBe(403)
    const older = await console.ask(`/console/p/main/conversations/${idOf(1)}?before=1`, {
      headers: { cookie: await console.signIn('olga') },
    })
    expect([
      older.text.includes('The newest messages, and writing'),
      older.text.includes('data-write'),
    ]).toEqual([true, false])
  })

  test('is accepted from a page of the console only, for a conversation that is there', async () => {
    const { send } = await write(idOf(2), post)
    const body = formBody(post)
    const headers = {
      cookie: await console.signIn('olga'),
      ...ownForm,
      'sec-fetch-site': 'cross-site',
    }
    const foreign = await console.ask(`/console/p/main/conversations/${idOf(2)}`, {
      method: 'POST',
      headers,
      body,
    })
    expect(foreign.status).toBe(403)
    expect((await (await write(idOf(999), post)).send()).status).toBe(404)
    expect(await draftsOf(idOf(2))).toEqual([])
    expect((await send()).status).toBe(303)
  })
})

describe('a text of the project', () => {
  test('begins a draft, filled and signed with the name that visitors see', async () => {
    const settings = {
      replies: { 'on its way': 'Dear {{name}}, it left. {{sender}}' },
      replyAs: 'Shop',
    }
    const olga = { ...person('olga', 'operator'), replyAs: 'Olga S.' }
    const access = { people: () => [olga, person('otto', 'operator')], httpToken: null }
    const at = await startConsole(async () => {}, { settings, access, beside: console })
    const textOf = async (name: string, id: string) => {
      const headers = { cookie: await at.signIn(name) }
      return (await at.ask(`/console/p/main/conversations/${id}?text=on+its+way`, { headers })).text
    }
    const [known, nameless] = [idOf(1), newConversation()]
    expect(await textOf('olga', known)).toMatch(
      /<textarea [^>]*>\nDear Bo, it left. Olga S\.<\/textarea>/,
    )
    expect(await textOf('otto', known)).toContain('value="Shop"')
    expect(await textOf('olga', nameless)).toContain(
      'The mirror does not know {{name}} of this visitor: write it out.',
    )
    const { send } = await write(nameless, {}, 'olga', at)
    const refused = await send({ content: 'Dear {{name}}, it left.' })
    expect([refused.status, refused.text]).toEqual([
      422,
      expect.stringContaining('The text still has {{name}}, which the visitor would see'),
    ])
    expect(await draftsOf(nameless)).toEqual([])
  })
})
