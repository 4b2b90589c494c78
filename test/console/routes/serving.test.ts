/** How the console is served: small, kept by browsers, live, and never in the way of stopping. */

import { get, type ServerResponse } from 'node:http'
import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { openMirror } from '../../../src/app/facts.ts'
import type { Warehouse } from '../../../src/app/open.ts'
import type { ProjectConfig } from '../../../src/config/config.ts'
import { unconfiguredProject } from '../../../src/console/project.ts'
import { tell } from '../../../src/console/routes/live.ts'
import { createOutbox } from '../../../src/outbox/sql/outbox.ts'
import { commit, conversation } from '../../warehouse/row-fixtures.ts'
import { letWait, ownForm, startConsole } from './console-server.ts'

const fill = (warehouse: Warehouse, project: ProjectConfig) => letWait(warehouse, project, 'c1')

test('the address of the server leads to the console, and the console to its only project', async () => {
  const console = await startConsole(fill)
  const cookie = await console.signIn('vera')
  const to = async (path: string) => (await console.ask(path, { headers: { cookie } })).headers.location
  expect([await to('/'), await to('/console'), await to('/console/')]).toEqual([
    '/console',
    '/console/p/main',
    '/console/p/main',
  ])
})

test('the first page and all that it loads take less than 40 kB, and only the page is loaded again', async () => {
  const console = await startConsole(fill)
  const cookie = await console.signIn('vera')
  const sizeOf = async (path: string) => {
    const response = await fetch(console.address + path, { headers: { cookie, 'accept-encoding': 'br' } })
    const head = [...response.headers].map(([name, value]) => `${name}: ${value}`).join('\r\n')
    const { headers } = await console.ask(path, { headers: { cookie, 'accept-encoding': 'br' } })
    const body = headers['content-length'] ?? (await compressedSize(console.address + path, cookie))
    return { size: Number(body) + head.length, cache: String(headers['cache-control']), text: await response.text() }
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

test('numbers change on an open page, for all who listen, and open streams do not keep it from stopping', async () => {
  const console = await startConsole(fill)
  const cookie = await console.signIn('vera')
  const listen = async () => {
    const response = await fetch(`${console.address}/console/p/main/live`, { headers: { cookie } })
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    return response.body!.pipeThrough(new TextDecoderStream()).getReader()
  }
  const readers = [await listen(), await listen()]
  const waitFor = async (reader: (typeof readers)[number], text: string) => {
    for (let seen = ''; !seen.includes(text); ) {
      const { value, done } = await reader.read()
      if (done) throw new Error(`the stream ended without ${text}`)
      seen += value
    }
  }
  await waitFor(readers[0]!, '"waiting":"1"')
  await letWait(console.warehouse, console.project, 'c2')
  for (const reader of readers) await waitFor(reader, '"waiting":"2"')
  await console.close()
  for (const reader of readers) expect(await drained(reader)).toBe(true)
})

async function drained(reader: ReadableStreamDefaultReader<string>): Promise<boolean> {
  for (;;) {
    const { done } = await reader.read()
    if (done) return true
  }
}

test('a stream ends with its session, and nobody has all streams', async () => {
  const console = await startConsole(fill)
  const cookie = await console.signIn('vera')
  const listen = (by: string) => fetch(`${console.address}/console/p/main/live`, { headers: { cookie: by } })
  const streams = await Promise.all(Array.from({ length: 17 }, () => listen(cookie)))
  expect(streams.map(({ status }) => status).sort()).toEqual([...Array(16).fill(200), 503])
  const other = await listen(await console.signIn('ann'))
  expect(other.status).toBe(200)
  await console.ask('/console/sign-out', { method: 'POST', headers: { cookie, ...ownForm } })
  const ends = streams.map((stream) => stream.text().catch(() => 'ended'))
  expect((await Promise.all(ends)).filter((end) => end === 'ended')).toHaveLength(16)
  await other.body?.cancel()
})

const oddNames = ['..', '.', 'x'.repeat(1001), 'ü'.repeat(600), 'a\0b', '~..', '~2e', '%2E%2E', 'a/../b']
const controlNames = ['bell\u0007 \u001b[31mred', 'two\r\nlines', '\t', ' ']

test.each([...oddNames, ...controlNames])(
  'a batch that SQL named %j can be opened by its link, and decided about',
  async (name) => {
    const target = '00000000-0000-4000-8000-000000000001'
    const console = await startConsole(async (warehouse) => {
      await openMirror(warehouse, 'main').commit(commit('conversations', [conversation(target)]))
      const flag = {
        operation: 'handled',
        target,
        payload: { handled: true },
        ref: null,
        expect: null,
        expiresAt: null,
      } as const
      const batch = { title: 'Named by SQL', source: 'test', note: null, reverts: null }
      const options = { status: 'draft', batchId: name, createdBy: 'olga', expiresAt: null, batch } as const
      await createOutbox(warehouse.projectDb('main')).enqueue([[flag]], options)
    })
    const headers = { cookie: await console.signIn('ann') }
    const { text } = await console.ask('/console/p/main/writebacks', { headers })
    const [, link = ''] = /href="([^"]*\/batches\/[^"]*)"/.exec(text) ?? []
    const shown = await console.ask(new URL(link.replaceAll('&amp;', '&'), console.address).pathname, { headers })
    expect([shown.status, shown.text.includes('Named by SQL')], link).toEqual([200, true])
    const [, toConfirm = ''] = /href="([^"]*confirm[^"]*approve[^"]*)"/.exec(shown.text) ?? []
    const confirm = await console.ask(toConfirm.replaceAll('&amp;', '&'), { headers })
    const hidden = [...confirm.text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)]
    const type = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/x-www-form-urlencoded' }
    const made = await console.ask('/console/p/main/decide', {
      ...{ method: 'POST', headers: { ...headers, ...type } },
      body: new URLSearchParams(
        hidden.map(([, field = '', value = '']): [string, string] => [field, value]),
      ).toString(),
    })
    expect([confirm.status, made.status]).toEqual([200, 303])
    expect(await createOutbox(console.warehouse.projectDb('main')).countByStatus({})).toEqual({ queued: 1 })
  },
)

test('the head of a stream ends', async () => {
  const console = await startConsole(fill)
  const cookie = await console.signIn('vera')
  const { status, headers } = await console.ask('/console/p/main/live', { method: 'HEAD', headers: { cookie } })
  expect([status, headers['content-type']]).toEqual([200, 'text/event-stream'])
})

test('who does not read a stream misses numbers, which are not kept for them', async () => {
  const neverRead = new Writable({ highWaterMark: 10, write: () => {} })
  const listener = { response: neverRead as unknown as ServerResponse, person: 'vera', mayListen: async () => true }
  const kept: number[] = []
  for (const text of ['first message', 'second', 'third']) {
    await tell(listener, text)
    kept.push(neverRead.writableLength)
  }
  expect(kept).toEqual([13, 13, 13])
})

test.each([null, 'Nowhere/Else', '5'])('a warehouse whose time zone is %s is shown in UTC', (timeZone) => {
  expect(unconfiguredProject('p1', timeZone).timeZone).toBe('UTC')
})

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
  const { status, text } = await console.ask('/console/p/main/writebacks?before=none', { headers: { cookie } })
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
