/** How the console is served: small, kept by browsers, and with an answer for every address. */

import { get } from 'node:http'
import { expect, test } from 'vitest'
import { openMirror } from '../../../src/app/facts.ts'
import type { Warehouse } from '../../../src/app/open.ts'
import type { ProjectConfig } from '../../../src/config/config.ts'
import { unconfiguredProject } from '../../../src/console/project.ts'
import { storeAnnounced } from '../../../src/maintenance/sql/notifications.ts'
import { recordJobFailure } from '../../../src/maintenance/sql/workers.ts'
import { createOutbox } from '../../../src/outbox/sql/outbox.ts'
import { commit, conversation } from '../../warehouse/row-fixtures.ts'
import { flagOn, queueDrafts } from '../queued-rows.ts'
import { letWait, startConsole } from './console-server.ts'

const fill = (warehouse: Warehouse, project: ProjectConfig) => letWait(warehouse, project, 'c1')

test('the address of the server leads to the console, and the console to its only project', async () => {
  const console = await startConsole(fill)
  const cookie = await console.signIn('vera')
  const to = async (path: string) =>
    (await console.ask(path, { headers: { cookie } })).headers.location
  expect([await to('/'), await to('/console'), await to('/console/')]).toEqual([
    '/console',
    '/console/p/main',
    '/console/p/main',
  ])
})

test('the page of the service says what people were notified of, and why that fails', async () => {
  const console = await startConsole(async (warehouse, project) => {
    await letWait(warehouse, project, 'c1')
    const announced = {
      event: 'key_denied',
      subject: '',
      level: 1,
      announcedAt: Date.now() - 60_000,
    }
    const over = { ...announced, event: 'gap', level: 0 }
    await storeAnnounced(warehouse.projectDb('main'), [announced, over], [])
    const times = { since: Date.now(), lastAt: Date.now(), failures: 1 }
    const reason = 'the address of `notify` answers 404'
    await recordJobFailure(warehouse.db, {
      job: 'notify',
      projectId: 'main',
      key: '',
      reason,
      ...times,
    })
  })
  const cookie = await console.signIn('vera')
  const { text } = await console.ask('/console/p/main/service', { headers: { cookie } })
  expect(text).toMatch(
    /the address of `notify` answers 404[\s\S]*the key is denied[\s\S]*1 min ago/,
  )
  expect(text).not.toContain('open gaps')
})

test('the first page and all that it loads take less than 40 kB, and only the page is loaded again', async () => {
  const console = await startConsole(fill)
  const cookie = await console.signIn('vera')
  const sizeOf = async (path: string) => {
    const response = await fetch(console.address + path, {
      headers: { cookie, 'accept-encoding': 'br' },
    })
    const head = [...response.headers].map(([name, value]) => `${name}: ${value}`).join('\r\n')
    const { headers } = await console.ask(path, { headers: { cookie, 'accept-encoding': 'br' } })
    const body = headers['content-length'] ?? (await compressedSize(console.address + path, cookie))
    return {
      size: Number(body) + head.length,
      cache: String(headers['cache-control']),
      text: await response.text(),
    }
  }
  const page = await sizeOf('/console/p/main')
  const [folder = ''] = /\/console\/assets\/\w+/.exec(page.text) ?? []
  const assets = [
    'base.css',
    'layout.css',
    'blocks.css',
    'forms.css',
    'charts.css',
    'console.js',
    'icons.svg',
    'icon.svg',
  ]
  const loaded = await Promise.all(assets.map((name) => sizeOf(`${folder}/${name}`)))
  for (const { cache } of loaded) expect(cache).toBe('public, max-age=31536000, immutable')
  const total = [page, ...loaded].reduce((sum, { size }) => sum + size, 0)
  expect(total).toBeLessThan(40_000)
})

function compressedSize(url: string, cookie: string): Promise<number> {
  return new Promise((resolve, reject) => {
    get(url, { headers: { cookie, 'accept-encoding': 'br' } }, (response) => {
      let size = 0
      response.on('data', (part: Buffer) => {
        size += part.length
      })
      response.on('end', () => resolve(size))
    }).on('error', reject)
  })
}

const oddNames = [
  '..',
  '.',
  'x'.repeat(1001),
  'ü'.repeat(600),
  'a\0b',
  '~..',
  '~2e',
  '%2E%2E',
  'a/../b',
]
const controlNames = ['bell\u0007 \u001b[31mred', 'two\r\nlines', '\t', ' ']

test.each([...oddNames, ...controlNames])(
  'a batch that SQL named %j can be opened by its link, and decided about',
  async (name) => {
    const target = '00000000-0000-4000-8000-000000000001'
    const console = await startConsole(async (warehouse) => {
      await openMirror(warehouse, 'main').commit(commit('conversations', [conversation(target)]))
      await queueDrafts(warehouse, name, [flagOn(target)], { title: 'Named by SQL' })
    })
    const headers = { cookie: await console.signIn('ann') }
    const { text } = await console.ask('/console/p/main/writebacks', { headers })
    const [, link = ''] = /href="([^"]*\/batches\/[^"]*)"/.exec(text) ?? []
    const shown = await console.ask(
      new URL(link.replaceAll('&amp;', '&'), console.address).pathname,
      { headers },
    )
    expect([shown.status, shown.text.includes('Named by SQL')], link).toEqual([200, true])
    const [, toConfirm = ''] = /href="([^"]*confirm[^"]*approve[^"]*)"/.exec(shown.text) ?? []
    const confirm = await console.ask(toConfirm.replaceAll('&amp;', '&'), { headers })
    const hidden = [
      ...confirm.text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g),
    ]
    const type = {
      'sec-fetch-site': 'same-origin',
      'content-type': 'application/x-www-form-urlencoded',
    }
    const made = await console.ask('/console/p/main/decide', {
      method: 'POST',
      headers: { ...headers, ...type },
      body: new URLSearchParams(
        hidden.map(([, field = '', value = '']): [string, string] => [field, value]),
      ).toString(),
    })
    expect([confirm.status, made.status]).toEqual([200, 303])
    expect(await createOutbox(console.warehouse.projectDb('main')).countByStatus({})).toEqual({
      queued: 1,
    })
  },
)

test.each([null, 'Nowhere/Else', '5'])(
  'a warehouse whose time zone is %s is shown in UTC',
  (timeZone) => {
    expect(unconfiguredProject('p1', timeZone).timeZone).toBe('UTC')
  },
)

test('an address that leads nowhere is a page, too', async () => {
  const console = await startConsole(fill)
  const cookie = await console.signIn('vera')
  for (const path of [
    '/console/none',
    '/console/p/none',
    '/console/p/main/streams/none',
    '/console/p/main/runs/none',
  ]) {
    const { status, headers, text } = await console.ask(path, { headers: { cookie } })
    expect([status, headers['content-type']], path).toEqual([404, 'text/html; charset=utf-8'])
    expect(text).toContain('There is nothing here.')
  }
})

test('batches before one that is not there are the newest, and no other names are looked through', async () => {
  const console = await startConsole(fill)
  const cookie = await console.signIn('vera')
  const { status, text } = await console.ask('/console/p/main/writebacks?before=none', {
    headers: { cookie },
  })
  expect([status, text]).toEqual([200, expect.stringContaining('No batch has been queued yet.')])
})

test('a warehouse that cannot be read is said on the page, without its address', async () => {
  const console = await startConsole(fill)
  const cookie = await console.signIn('vera')
  await console.warehouse.query('alter table sync_streams rename to gone')
  const { status, text } = await console.ask('/console/p/main', { headers: { cookie } })
  expect(status).toBe(503)
  expect(text).toContain('This did not work')
})
