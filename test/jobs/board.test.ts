/** The queue board, as a browser gets it. */
import { expect, test } from 'vitest'
import { bullBoardPlugin } from '../../jobs/backends/bullmq/board.ts'
import type { HttpRoutes } from '../../src/http/server.ts'
import { startTestServer, token, tokenOptions } from '../http/test-server.ts'

test('the queue board comes from this server alone, and allows the browser no other host', async () => {
  const board: HttpRoutes = {
    prefix: '/queues',
    auth: 'token',
    load: async () => bullBoardPlugin([]),
  }
  const { ask } = await startTestServer({ ...tokenOptions, plugins: [board] })
  expect(await ask('/queues/')).toMatchObject({ status: 401 })
  const { status, headers, text } = await ask('/queues/', {
    headers: { authorization: `Bearer ${token}` },
  })
  expect(status).toBe(200)
  expect(text).toContain('id="root"')
  const loaded = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address = '']) => address)
  expect(loaded.length).toBeGreaterThan(3)
  expect(loaded.filter((address) => /^(https?:)?\/\//.test(address))).toEqual([])
  for (const path of ['/queues/api/queues/sync/pause', '/queues/api/queues/pause']) {
    const sent = { method: 'PUT', headers: { authorization: `Bearer ${token}` } }
    expect((await ask(path, sent)).status, path).toBe(405)
  }
  expect(headers['content-security-policy']).toMatch(/^default-src 'self';/)
})
