/** Who may see what of the console, and from where. Real requests over loopback. */

import { describe, expect, test } from 'vitest'
import { createProjectFacts } from '../../../src/analytics/sql/project-facts.ts'
import { openMirror } from '../../../src/app/facts.ts'
import type { Warehouse } from '../../../src/app/open.ts'
import { type Role, roles } from '../../../src/config/people.ts'
import { globalScreens } from '../../../src/console/routes/routes.ts'
import { projectScreens } from '../../../src/console/routes/screens.ts'
import type { ConsolePerson } from '../../../src/console/routes/session.ts'
import { createAttempts } from '../../../src/http/auth.ts'
import { secret } from '../../../src/values/secret.ts'
import { createAuditLog } from '../../../src/warehouse/audit-log.ts'
import { commit, conversation, message, visitor } from '../../warehouse/row-fixtures.ts'
import {
  cookieOf,
  formBody,
  ownForm,
  people,
  person,
  startConsole,
  useConsole,
} from './console-server.ts'

const fill = (warehouse: Warehouse) =>
  openMirror(warehouse, 'main').commit(commit('conversations', [conversation('c1')]))

const shared = useConsole(fill)

const names: Readonly<Record<Role, string>> = { viewer: 'vera', operator: 'olga', approver: 'ann' }
const pages = [
  ...projectScreens.map(({ path, role }) => ({
    path: `/console/p/main${path.replace('streams/:id', 'streams/calls').replace(/:\w+/, 'c1')}`,
    role,
  })),
  ...globalScreens.map(({ path, role }) => ({ path: `/console${path}`, role })),
]

describe('every page', () => {
  test('needs a person who is signed in, and leads to the page for it', async () => {
    for (const { path } of pages) {
      const { status, headers } = await shared.ask(path)
      expect([status, headers.location], path).toEqual([
        303,
        `/console/sign-in?next=${encodeURIComponent(path)}`,
      ])
    }
  })

  test.each(roles)('is shown to the %s if the role is enough', async (role) => {
    const cookie = await shared.signIn(names[role])
    for (const { path, role: needed } of pages) {
      const { status } = await shared.ask(path, { headers: { cookie } })
      const mayLook = roles.indexOf(role) >= roles.indexOf(needed)
      expect(mayLook ? [200, 303, 404] : [403], path).toContain(status)
    }
  })

  test('can only be looked at', async () => {
    const cookie = await shared.signIn('ann')
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      for (const { path } of pages) {
        // These have forms of their own, which are sent to them.
        if (method === 'POST' && /\/(import$|conversations\/|visitors\/)/.test(path)) continue
        const { status } = await shared.ask(path, { method, headers: { cookie, ...ownForm } })
        expect([404, 405], `${method} ${path}`).toContain(status)
      }
    }
  })

  test('has an address without NUL, which Postgres does not store', async () => {
    const cookie = await shared.signIn('ann')
    for (const path of ['/conversations/%00', '/runs?before=%00'])
      expect(
        (await shared.ask(`/console/p/main${path}`, { headers: { cookie } })).status,
        path,
      ).toBe(403)
  })

  test('is not stored, loads nothing of another site, and has no script within', async () => {
    const cookie = await shared.signIn('ann')
    const { headers, text } = await shared.ask('/console/p/main', { headers: { cookie } })
    expect(headers['cache-control']).toBe('no-store')
    expect(headers['content-security-policy']).toBe(
      "default-src 'none';script-src 'self';style-src 'self';img-src 'self';connect-src 'self';form-action 'self';frame-ancestors 'none';base-uri 'none';require-trusted-types-for 'script';trusted-types 'none'",
    )
    expect(text).not.toMatch(/ style=| on[a-z]+=|<script(?! type="module" src=)/)
  })
})

describe('a session', () => {
  test('is a cookie that no script can read and that no other site sends', async () => {
    const body = formBody({ name: 'ann', token: 'ann-token', next: '/console/log?x=1' })
    const { headers } = await shared.ask('/console/sign-in', {
      method: 'POST',
      headers: ownForm,
      body,
    })
    expect(headers.location).toBe('/console/log?x=1')
    expect(String(headers['set-cookie'])).toMatch(
      /^deskmirror-\d+=[\w.%/+-]+; Max-Age=43200; Path=\/console; HttpOnly; SameSite=Lax$/,
    )
  })

  test.each([
    'https://evil.example',
    '//evil.example',
    '/console/sign-out',
    'javascript:alert(1)',
    '/queues',
    '/console/../queues',
  ])('leads nowhere else: %s', async (next) => {
    const body = formBody({ name: 'ann', token: 'ann-token', next })
    const { headers } = await shared.ask('/console/sign-in', {
      method: 'POST',
      headers: ownForm,
      body,
    })
    expect(headers.location).toBe('/console')
  })

  test('that was changed is worth nothing', async () => {
    const cookie = await shared.signIn('vera')
    const [name = '', value = ''] = cookie.split('=')
    const [payload = '', signature = ''] = decodeURIComponent(value).split('.')
    const forged = Buffer.from(JSON.stringify(['person', 'ann', Date.now() + 1e9])).toString(
      'base64url',
    )
    for (const changed of [
      `${forged}.${signature}`,
      `${payload}.`,
      payload,
      'x',
      '',
      `${payload}.${signature}x`,
    ]) {
      const { status } = await shared.ask('/console/projects', {
        headers: { cookie: `${name}=${changed}` },
      })
      expect(status, changed).toBe(303)
    }
  })

  test('ends after twelve hours, and when the token of its person changes or the person leaves', async () => {
    let time = Date.now()
    let known = people
    const console = await startConsole(fill, {
      now: () => time,
      access: { people: () => known, httpToken: null },
    })
    const cookie = await console.signIn('ann')
    const status = async () =>
      (await console.ask('/console/projects', { headers: { cookie } })).status
    time += 12 * 3_600_000 - 1
    expect(await status()).toBe(200)
    time += 1
    expect(await status()).toBe(303)
    time -= 1000
    known = [{ ...person('ann', 'approver'), token: secret('another') }]
    expect(await status()).toBe(303)
    known = []
    expect(await status()).toBe(303)
    known = [person('ann', 'viewer')]
    expect(await status()).toBe(200)
    expect((await console.ask('/console/log', { headers: { cookie } })).status).toBe(403)
  })

  test('ends by signing out', async () => {
    const cookie = await shared.signIn('ann')
    const { status, headers } = await shared.ask('/console/sign-out', {
      method: 'POST',
      headers: { cookie, ...ownForm },
    })
    expect([status, String(headers['set-cookie'])]).toEqual([
      200,
      expect.stringContaining('Max-Age=0'),
    ])
    // A copy of the cookie, too.
    expect((await shared.ask('/console/projects', { headers: { cookie } })).status).toBe(303)
  })

  test('that has ended by signing out has ended for every worker, also after a restart', async () => {
    const console = await startConsole(fill)
    const cookie = await console.signIn('ann')
    const other = await startConsole(async () => {}, { beside: console })
    const there = cookie.replace(/^[^=]+/, `deskmirror-${new URL(other.address).port}`)
    const status = async () =>
      (await other.ask('/console/projects', { headers: { cookie: there } })).status
    expect(await status()).toBe(200)
    await console.ask('/console/sign-out', { method: 'POST', headers: { cookie, ...ownForm } })
    expect(await status()).toBe(303)
  })

  test('under a name that has become that of a person, or by the token of HTTP, ends once there are people', async () => {
    let known: ConsolePerson[] = []
    const access = { people: () => known, httpToken: secret('http-token') }
    const console = await startConsole(fill, { access })
    const signIn = async (name: string) => {
      const body = formBody({ name, token: 'http-token' })
      return cookieOf(
        await console.ask('/console/sign-in', { method: 'POST', headers: ownForm, body }),
      )
    }
    const cookies = [await signIn('bob'), await signIn('zoë')]
    const statuses = () =>
      Promise.all(
        cookies.map(
          async (cookie) => (await console.ask('/console/log', { headers: { cookie } })).status,
        ),
      )
    expect(await statuses()).toEqual([200, 200])
    known = [person('Bob', 'viewer')]
    expect(await statuses()).toEqual([303, 303])
  })
})

describe('signing in', () => {
  test('with a wrong token is refused, after five of them for a while; a right one never is', async () => {
    let time = Date.now()
    const console = await startConsole(fill, { now: () => time })
    const post = (name: string, token: string) =>
      console.ask('/console/sign-in', {
        method: 'POST',
        headers: ownForm,
        body: formBody({ name, token }),
      })
    for (const [name, token] of [
      ['ann', 'vera-token'],
      ['ann', ''],
      ['nobody', 'ann-token'],
      ['ann', 'x'],
      ['ann', 'y'],
    ] as const)
      expect((await post(name, token)).status).toBe(401)
    expect((await post('ann', 'x')).status).toBe(429)
    // Behind a proxy it may be someone else.
    expect((await post('ann', 'ann-token')).status).toBe(303)
    time += 30_001
    expect((await post('ann', 'x')).status).toBe(401)
  })

  test('is not tried more often as a bearer', async () => {
    const console = await startConsole(fill)
    const as = async (token: string) => {
      const { status } = await console.ask('/console/projects', {
        headers: { authorization: `Bearer ${token}` },
      })
      return status
    }
    expect(await as('ann-token')).toBe(200)
    for (let tries = 0; tries < 5; tries += 1) expect(await as('wrong')).toBe(401)
    expect([await as('wrong'), await as('ann-token')]).toEqual([429, 200])
    const body = formBody({ name: 'ann', token: 'wrong' })
    expect(
      (await console.ask('/console/sign-in', { method: 'POST', headers: ownForm, body })).status,
    ).toBe(429)
  })

  test.each([
    ['192.0.2.1', '::ffff:192.0.2.1', true],
    ['::ffff:192.0.2.1', '::ffff:192.0.2.2', false],
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff::9', true],
    ['2001:db8::1', '2001:db8:0:0:5::', true],
    ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
  ])('after wrong tokens from %s makes %s wait: %s', (first, second, waits) => {
    const attempts = createAttempts()
    for (let tries = 0; tries < 5; tries += 1) expect(attempts.recordWrong(first, 1000)).toBe(0)
    expect(attempts.recordWrong(second, 1000) > 0).toBe(waits)
  })

  test('with the token of HTTP makes everybody an approver under a name of their own', async () => {
    const console = await startConsole(fill, {
      access: { people: () => [], httpToken: secret('http-token') },
    })
    const post = (name: string) =>
      console.ask('/console/sign-in', {
        method: 'POST',
        headers: ownForm,
        body: formBody({ name, token: 'http-token' }),
      })
    for (const name of ['vera\u200b', '\u202evera', 've\nra', 'vera\u3164', 'vera\u034f'])
      expect((await post(name)).status, name).toBe(400)
    const response = await post('Zoë')
    const { text } = await console.ask('/console/projects', {
      headers: { cookie: cookieOf(response) },
    })
    expect(text).toContain('<bdi>Zoë</bdi> <span class="faint">approver</span>')
  })

  test('where people are named, the token of HTTP signs nobody in', async () => {
    const access = { people: () => people, httpToken: secret('http-token') }
    const console = await startConsole(fill, { access })
    const body = formBody({ name: 'Zoë', token: 'http-token' })
    expect(
      (await console.ask('/console/sign-in', { method: 'POST', headers: ownForm, body })).status,
    ).toBe(401)
    const headers = { authorization: 'Bearer http-token' }
    expect((await console.ask('/console/projects', { headers })).status).toBe(401)
  })

  test('by a link that was made up gets the same answer for every name', async () => {
    let time = Date.now()
    const console = await startConsole(fill, { now: () => time })
    const answers: [number, string][] = []
    for (const name of ['ann', 'Vera', 'nobody', 'zoë']) {
      time += 60_000
      const body = formBody({ name, code: 'made-up' })
      const { status, text } = await console.ask('/console/sign-in', {
        method: 'POST',
        headers: ownForm,
        body,
      })
      answers.push([status, text.replaceAll(name, 'NAME')])
    }
    expect(answers[0]?.[0]).toBe(401)
    expect(answers[0]?.[1]).toContain('This link has been used or is too old.')
    expect(answers).toEqual(answers.map(() => answers[0]))
  })

  test('under a name that looks like that of a person is for that person', async () => {
    let time = Date.now()
    const console = await startConsole(fill, { now: () => time })
    const post = async (name: string) => {
      // Otherwise it would have to wait after five of them.
      time += 60_000
      await createAuditLog(console.warehouse.db).storeLink(name, 1000, time)
      const body = formBody({ name, code: name })
      return (await console.ask('/console/sign-in', { method: 'POST', headers: ownForm, body }))
        .status
    }
    for (const name of [
      'vera',
      'VERA',
      'ｖera',
      'véra',
      'v\u0435ra',
      'ver\u0430',
      've ra',
      'vera.',
      'ⅴera',
      'ολγα',
      '維拉',
    ])
      expect(await post(name), name).toBe(401)
    expect(await post('Zoë')).toBe(303)
  })

  test.each([
    { name: 'ann-token', token: '' },
    { name: 'ann-token', token: 'ann-token' },
    { name: 'http-token', token: 'http-token' },
    { name: 'another secret', token: 'ann' },
  ])('a token that is written where the name belongs is stored nowhere: %o', async (form) => {
    const people = form.name === 'http-token' ? () => [] : () => [person('ann', 'approver')]
    const console = await startConsole(fill, {
      access: { people, httpToken: secret('http-token') },
    })
    const post = { method: 'POST', headers: ownForm, body: formBody(form) }
    expect((await console.ask('/console/sign-in', post)).status).toBe(401)
    const events = await createAuditLog(console.warehouse.db).list(null, 10)
    expect(events).toMatchObject([{ action: 'sign_in_refused', person: '' }])
    expect(console.lines.join() + JSON.stringify(events)).not.toContain(form.name)
  })

  test('says where the token is from', async () => {
    expect((await shared.ask('/console/sign-in')).text).toContain(
      'The token comes from whoever runs deskmirror',
    )
  })

  test('with a link works once, however many try at the same time', async () => {
    const console = await startConsole(fill, { access: { people: () => [], httpToken: null } })
    await createAuditLog(console.warehouse.db).storeLink('code', 60_000, Date.now())
    await createAuditLog(console.warehouse.db).storeLink('old', -1, Date.now())
    const post = (code: string) =>
      console.ask('/console/sign-in', {
        method: 'POST',
        headers: ownForm,
        body: formBody({ name: 'me', code }),
      })
    expect((await console.ask('/console/sign-in?code=code')).text).toContain('value="code"')
    const statuses = await Promise.all(
      Array.from({ length: 4 }, () => post('code').then(({ status }) => status)),
    )
    expect(statuses.sort()).toEqual([303, 401, 401, 401])
    expect((await post('old')).status).toBe(401)
  })

  test('at a warehouse that is only looked at needs the link alone, and makes a viewer', async () => {
    const console = await startConsole(fill, {
      access: { people: () => [], httpToken: null },
      isReadOnly: true,
    })
    await createAuditLog(console.warehouse.db).storeLink('code', 60_000, Date.now())
    const open = (cookie = '') => console.ask('/console/sign-in?code=code', { headers: { cookie } })
    const first = await open()
    expect([first.status, first.headers.location]).toEqual([303, '/console'])
    const headers = { cookie: cookieOf(first) }
    expect((await console.ask('/console/p/main', { headers })).text).toMatch(
      /class="viewer"><bdi>viewer<\/bdi><\/span>/,
    )
    expect((await console.ask('/console/log', { headers })).status).toBe(403)
    expect([(await open(headers.cookie)).status, (await open()).status]).toEqual([303, 401])
  })

  test('is in the audit log; looking at pages is not', async () => {
    const console = await startConsole(fill)
    const cookie = await console.signIn('ann')
    for (const { path } of pages) await console.ask(path, { headers: { cookie } })
    await console.ask('/console/sign-in', {
      method: 'POST',
      headers: ownForm,
      body: formBody({ name: 'eve', token: 'x' }),
    })
    const events = await createAuditLog(console.warehouse.db).list(null, 10)
    expect(events.map(({ person: who, role, action }) => [who, role, action])).toEqual([
      ['', '', 'sign_in_refused'],
      ['ann', 'approver', 'signed_in'],
    ])
    expect(console.lines.join()).not.toContain('ann-token')
  })
})

describe('a request that changes something', () => {
  const sites = [undefined, 'same-origin', 'same-site', 'cross-site', 'none']
  const origins = [undefined, 'own', 'https://evil.example', 'null']
  const auth = ['cookie', 'bearer'] as const
  const all = sites.flatMap((site) =>
    origins.flatMap((origin) => auth.map((by) => ({ site, origin, by }))),
  )

  test.each(all)('from $site, $origin, with a $by', async ({ site, origin, by }) => {
    const headers: Record<string, string> = {
      ...(by === 'cookie' ? { cookie: 'deskmirror-0=x' } : { authorization: 'Bearer ann-token' }),
      ...(site === undefined ? {} : { 'sec-fetch-site': site }),
      ...(origin === undefined ? {} : { origin: origin === 'own' ? shared.address : origin }),
    }
    const isOwn =
      site === undefined
        ? origin === undefined
          ? by === 'bearer'
          : origin === 'own'
        : site === 'same-origin'
    const { status } = await shared.ask('/console/sign-out', { method: 'POST', headers })
    expect(status).toBe(isOwn ? (by === 'cookie' ? 401 : 200) : 403)
  })
})

describe('another page', () => {
  test('may link to the console, but neither embed nor read it', async () => {
    const cookie = await shared.signIn('ann')
    const get = async (mode: string, dest: string, site = 'cross-site') => {
      const headers = {
        cookie,
        'sec-fetch-site': site,
        'sec-fetch-mode': mode,
        'sec-fetch-dest': dest,
      }
      return (await shared.ask('/console/projects', { headers })).status
    }
    expect(await get('navigate', 'document')).toBe(200)
    expect(await get('navigate', 'iframe')).toBe(403)
    expect(await get('no-cors', 'image')).toBe(403)
    expect(await get('cors', 'empty', 'same-site')).toBe(403)
  })

  test('cannot reach it under a name of its own while there are no tokens', async () => {
    const console = await startConsole(fill, { access: { people: () => [], httpToken: null } })
    const status = async (host: string) =>
      (await console.ask('/console/sign-in', { headers: { host } })).status
    expect([
      await status('localhost:1'),
      await status('[::1]:1'),
      await status('evil.example'),
    ]).toEqual([200, 200, 403])
  })
})

test('a viewer to whom messages are hidden finds conversations by their ids, and reads no word of them', async () => {
  const hidden = person('hal', 'viewer', true)
  const console = await startConsole(
    async (warehouse, project) => {
      const main = openMirror(warehouse, 'main')
      await main.commit(
        commit('visitors', [
          visitor(
            'v1',
            { plan: 'secret plan' },
            { name: 'Secret Name', email: 'secret@x.example' },
          ),
        ]),
      )
      await main.commit(commit('conversations', [conversation('c1', { visitor_id: 'v1' })]))
      const words = { sender_type: 'visitor', content: 'secret words' }
      await main.commit(commit('messages', [message('c1', 1, words)]))
      await createProjectFacts(warehouse.projectDb('main'), project).refresh()
    },
    { access: { people: () => [hidden, ...people], httpToken: null } },
  )
  const lists = ['/sheet?visitor=v1', '/sheet?q=secret']
  const paths = ['/waiting', '/conversations/c1', '/visitors/v1', '/search?q=secret', ...lists]
  const textFor = async (name: string) => {
    const cookie = await console.signIn(name)
    const pages = await Promise.all(
      paths.map((path) => console.ask(`/console/p/main${path}`, { headers: { cookie } })),
    )
    return pages.map(({ text }) => text.replace(/value="secret"/, '')).join()
  }
  expect(await textFor('hal')).not.toMatch(/secret/i)
  expect(await textFor('vera')).toMatch(/secret words[\s\S]*secret plan/)
  const cookie = await console.signIn('hal')
  const { headers } = await console.ask('/console/p/main/search?q=c1', { headers: { cookie } })
  expect(headers.location).toBe('/console/p/main/conversations/c1')
})
