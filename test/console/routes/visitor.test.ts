/** The page of a visitor over HTTP: what was sent, where it is named, and a correction as a draft. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { createProjectFacts } from '../../../src/analytics/sql/project-facts.ts'
import { openMirror } from '../../../src/app/facts.ts'
import type { Warehouse } from '../../../src/app/open.ts'
import type { ProjectConfig } from '../../../src/config/config.ts'
import { createOutbox } from '../../../src/outbox/sql/outbox.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { secret } from '../../../src/values/secret.ts'
import { createAuditLog } from '../../../src/warehouse/audit-log.ts'
import { projectConfigOf } from '../../mirror/sync/sync-sandbox.ts'
import {
  activity,
  call,
  commit,
  commitRows,
  conversation,
  idOf,
  message,
  timeAt,
  visitor,
} from '../../warehouse/row-fixtures.ts'
import { fieldsOf, formBody, ownForm, person, startConsole, useConsole } from './console-server.ts'

const [ada, anonymous, unmirrored] = [idOf(1), idOf(2), idOf(3)]
const conversationOf = (visitorId: string) => visitorId.replace(/^0/, '1')

async function fill(warehouse: Warehouse, project: ProjectConfig) {
  const main = openMirror(warehouse, project.projectId)
  const known = [
    visitor(ada, {}, { name: 'Ada', email: 'ada@example.com' }),
    visitor(anonymous, {}, { name: null, email: null }),
  ]
  const all = [ada, anonymous, unmirrored]
  await commitRows(main, {
    visitors: known,
    conversations: all.map((id) => conversation(conversationOf(id), { visitor_id: id })),
    messages: all.map((id) => message(conversationOf(id), 1, { sender_type: 'visitor' })),
    calls: [call('k1', {}, { visitorId: ada, status: 'missed' })],
  })
  await createProjectFacts(warehouse.projectDb(project.projectId), project).refresh()
}

const console = useConsole(fill)
const outbox = () => createOutbox(console.warehouse.projectDb('main'))

const get = (path: string, name = 'olga', on = console) => on.get(path, name)
const page = async (path: string, name = 'olga', on = console) =>
  (await get(path, name, on)).text.replace(/\s+/g, ' ')

/** The form of a visitor, and what a browser sends of it. */
async function correct(id: string, name = 'olga', on = console) {
  const headers = { cookie: await on.signIn(name), ...ownForm }
  const text = await page(`visitors/${id}?correct=yes`, name, on)
  const fields = fieldsOf(text, 'key|name|email|seen_\\w+')
  const post = (given: Record<string, string>, over: Record<string, string> = {}) =>
    on.ask(`/console/p/main/visitors/${id}`, {
      method: 'POST',
      headers: { ...headers, ...over },
      body: formBody({ ...fields, ...given }),
    })
  return { text, fields, post }
}

test('every place that names a visitor leads to the page', async () => {
  await console.warehouse.query(`insert into writebacks (project_id, id, operation, conversation_id, payload, status, batch_id)
    values ('main', 'named', 'message', '${conversationOf(ada)}', '{"content":"A","sender_name":"Ann"}', 'draft', 'b1')`)
  const lists = ['waiting', 'open', 'waits?from=2026-01-01', 'search?q=message']
  const ofQueue = ['writebacks?status=draft', 'batches/b1', 'confirm?decision=approve&batch=b1']
  for (const path of [
    ...lists,
    ...ofQueue,
    'conversations?of=ai&from=2026-01-01',
    'writebacks/named',
  ])
    expect(await page(path, 'ann'), path).toContain(
      `<a href="/console/p/main/conversations/${conversationOf(ada)}/visitor">`,
    )
  const { status, headers } = await get(`conversations/${conversationOf(ada)}/visitor`)
  expect([status, headers.location]).toEqual([303, `/console/p/main/visitors/${ada}`])
  for (const path of [`conversations/${conversationOf(ada)}`, 'search?q=ada@example'])
    expect(await page(path), path).toContain(`href="/console/p/main/visitors/${ada}"`)
  await console.warehouse.query(`update writebacks set status = 'cancelled' where id = 'named'`)
})

test('all that was sent is there, who queued and approved it, when it left, and what the mirror shows', async () => {
  const id = conversationOf(ada)
  const reply = message(id, 7, { created_at: timeAt(60), content: 'It is on its way.' })
  await openMirror(console.warehouse, 'main').commit(commit('messages', [reply]))
  const insert = (name: string, over: string) =>
    console.warehouse
      .query(`insert into writebacks (project_id, id, operation, conversation_id, payload, status, created_by)
      values ('main', '${name}', 'message', '${id}', '{"content":"It is on its way.","sender_name":"Ann"}', 'draft', 'olga')`)
      .then(() => console.warehouse.query(`update writebacks set ${over} where id = '${name}'`))
  const left = `attempts = 1, sent_at = '${timeAt(59)}', request_id = 'req-1', approved_by = 'ann'`
  await insert('w1', `status = 'succeeded', message_id = '7', ${left}`)
  await insert('w2', `status = 'uncertain', reason = 'no answer', attempts = 1`)
  const shown = await page(`visitors/${ada}`)
  expect(shown).toContain(
    '1 reply was sent to this visitor, once; 1 is uncertain; 1 did not reach this visitor. ' +
      'Of those that were or may have been sent, 2 have the same words as another.',
  )
  expect(shown).toMatch(
    /by <bdi>olga<\/bdi><br><span class="faint">approved by <bdi>ann<\/bdi>.*2026-01-01 00:00.*request <bdi>req-1<\/bdi>.*message <bdi>7<\/bdi>, <time.*1 message with this text/,
  )
  expect(shown).toMatch(/Calls.*missed/)
})

test('a visitor whom the mirror does not have is there with what names it, one of nobody is not', async () => {
  expect(await page(`visitors/${unmirrored}`)).toMatch(
    /The mirror does not have this visitor.*<h2>Conversations<\/h2>.*conversations\/1/,
  )
  expect(await page(`visitors/${anonymous}`)).toMatch(/<dt>Name<\/dt><dd><span class="faint">–/)
  expect((await get('visitors/nobody')).status).toBe(404)
})

test('columns that are not stored are said to be so, also beside the form', async () => {
  const columns = [
    { stream: 'visitors', path: 'name', action: 'block' },
    { stream: 'visitors', path: 'email', action: 'hash' },
  ] as const
  const settings = { columns, hashKey: secret('a key of more than 16 characters') }
  const closed = await startConsole(fill, { settings })
  await closed.warehouse.query(`update visitors set name = null, email = 'hmac:${'0'.repeat(64)}'`)
  const { text, fields, post } = await correct(ada, 'olga', closed)
  expect(text.match(/not stored/g)?.length).toBeGreaterThanOrEqual(4)
  expect(fields).toMatchObject({ name: '', email: '' })
  expect((await post({ name: 'Grace' })).status).toBe(303)
  const drafts = await createOutbox(closed.warehouse.projectDb('main')).list({ target: ada }, 9)
  expect(drafts.map(({ payload }) => payload)).toEqual([{ name: 'Grace' }])
})

describe('a correction', () => {
  test('is a draft of what was changed, with the value of the mirror beside it where the service cannot be asked', async () => {
    const { text, post } = await correct(ada)
    expect(text).toMatch(
      /The service could not be asked: .*“Now” is what the mirror read from the service: <time/,
    )
    expect(text).toMatch(/Now: <bdi class="exact">Ada<\/bdi>.*Now: <bdi class="exact">ada@example/)
    const sent = await post({ name: 'Ada Lovelace' })
    expect([sent.status, sent.headers.location]).toEqual([
      303,
      expect.stringMatching(/visitors\/0.*drafted=.*#correct$/),
    ])
    const location = String(sent.headers.location).replace('/console/p/main/', '')
    expect(await page(location.replace('#correct', ''))).toMatch(/Added to <a [^>]*>olga’s drafts/)
    const drafts = await outbox().list({ target: ada, operations: ['visitor'] }, 9)
    expect(drafts.map(({ payload, status, createdBy }) => [payload, status, createdBy])).toEqual([
      [{ name: 'Ada Lovelace' }, 'draft', 'olga'],
    ])
    const events = await createAuditLog(console.warehouse.db).list(null, 9)
    const event = events.find(({ action }) => action === 'drafted')
    expect(event?.detail).toBe(`correction · visitor ${ada}`)
    // The same form again is the same draft, and another one of the same is refused.
    expect((await post({ name: 'Ada Lovelace' })).status).toBe(303)
    const repeated = await (await correct(ada, 'ann')).post({ name: 'Ada Lovelace' })
    expect([repeated.status, repeated.text]).toEqual([
      422,
      expect.stringContaining('is already waiting'),
    ])
    expect(await outbox().list({ target: ada, operations: ['visitor'] }, 9)).toHaveLength(1)
  })

  test('clears a field that is emptied; changes nothing, or what has changed since, and is refused', async () => {
    const { post } = await correct(ada)
    const refused = async (given: Record<string, string>, why: string) => {
      const { status, text } = await post(given)
      expect([status, text.replace(/\s+/g, ' ')], why).toEqual([422, expect.stringContaining(why)])
    }
    await refused({}, 'You have changed neither the name nor the address.')
    await refused({ name: 'x'.repeat(301) }, 'The name is longer than 300 characters')
    await refused({ name: 'Grace', seen_name: 'Adele' }, 'It has been changed since')
    expect((await post({ key: 'x' })).status).toBe(400)
    expect((await post({ email: ' ' })).status).toBe(303)
    const [last] = await outbox().listNewest({ target: ada }, 1)
    expect(last?.payload).toEqual({ email: null })
  })

  test('is for operators who may read messages, from a page of the console', async () => {
    const { post } = await correct(anonymous)
    expect((await post({ name: 'Bo' }, { 'sec-fetch-site': 'cross-site' })).status).toBe(403)
    expect(await page(`visitors/${anonymous}?correct=yes`, 'vera')).not.toContain('Correct')
    const asVera = { cookie: await console.signIn('vera') }
    expect((await post({ name: 'Bo' }, asVera)).status).toBe(403)
    const access = { people: () => [person('hal', 'operator', true)], httpToken: null }
    const hidden = await startConsole(fill, { access })
    const { text } = await get(`visitors/${ada}?correct=yes`, 'hal', hidden)
    expect(text).not.toMatch(/Correct|Ada|ada@/)
    expect(await outbox().list({ target: anonymous }, 9)).toEqual([])
  })

  test('shows the present value of the service, which the mirror has then', async () => {
    const sandbox = await startSandbox({ size: { conversations: 1, visitors: 1, calls: 0 } })
    onTestFinished(() => sandbox.stop())
    const { name: _, ...settings } = projectConfigOf(sandbox)
    const [id = ''] = [...sandbox.truth('visitors')].map((row) => row.id ?? '')
    const known = async (warehouse: Warehouse, { projectId }: ProjectConfig) =>
      openMirror(warehouse, projectId).commit(commit('visitors', [visitor(id)]))
    const live = await startConsole(known, { settings })
    sandbox.mutate.renameVisitor(id, 'Grace', 'grace@example.com')
    const { text, fields } = await correct(id, 'olga', live)
    expect(fields).toMatchObject({ name: 'Grace', seen_email: 'grace@example.com' })
    expect(text).toContain('“Now” is what the service shows.')
  })
})

test('a search says how many visitors it found, and that there are more than it shows', async () => {
  const others = Array.from({ length: 11 }, (_, n) =>
    visitor(idOf(100 + n), {}, { name: `Zed ${n}` }),
  )
  const mirror = openMirror(console.warehouse, 'main')
  await mirror.commit(commit('visitors', others.slice(1)))
  expect(await page('search?q=Zed')).toContain('<p>10 visitors found.</p>')
  await mirror.commit(commit('visitors', others.slice(0, 1)))
  const cut = await page('search?q=Zed')
  expect(cut).toContain('<p>More than 10 visitors found; 10 are shown.')
  expect(cut.match(/Zed \d/g)).toHaveLength(10)
})

test('each list of a visitor goes on where the page before ended, and the sentence on top is about more than the first page', async () => {
  const id = idOf(4)
  const mirror = openMirror(console.warehouse, 'main')
  const numbers = Array.from({ length: 26 }, (_, n) => n)
  await commitRows(mirror, {
    conversations: numbers.map((n) =>
      conversation(idOf(400 + n), { visitor_id: id, last_message_at: timeAt(n) }),
    ),
    calls: numbers.map((n) => call(`of-${n}`, { occurred_at: timeAt(n) }, { visitorId: id })),
    visitor_activity: numbers.map((n) => activity(id, `h${n}`, 0, { url: `/page-${n}.` })),
  })
  await console.warehouse.query(
    numbers
      .map(
        (n) =>
          `('main', 's${n}', 'message', '${idOf(400 + n)}', '{"content":"Words ${n}.","sender_name":"Ann"}', 'draft')`,
      )
      .join()
      .replace(
        /^/,
        'insert into writebacks (project_id, id, operation, conversation_id, payload, status) values ',
      ),
  )
  const first = await page(`visitors/${id}`)
  expect(first).toContain('26 have not left yet')
  const linkTo = (part: string) =>
    new RegExp(`href="/console/p/main/(visitors/[^"#]*${part}[^"#]*)`).exec(first)?.[1] ?? ''
  const follow = async (part: string) => page(linkTo(part).replaceAll('&amp;', '&'))
  const oldest = `/conversations/${idOf(400)}"`
  expect([first.includes(oldest), (await follow('list=conversations')).includes(oldest)]).toEqual([
    false,
    true,
  ])
  expect((await follow('list=activity')).match(/page-\d+\./g)).toHaveLength(1)
  expect((await follow('list=calls')).match(/data-label="Direction"/g)).toHaveLength(1)
  const second = await follow('before=')
  expect(second).toContain('Of the write-backs below: ')
  expect(second.match(/Words \d+\./g)).toHaveLength(1)
})
