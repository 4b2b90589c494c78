/** What a service repeats of a customer's texts is in no error and in no log. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createClient } from '../../src/service/client.ts'
import { memoryBudget } from './test-service.ts'

test('an address that the service repeats in an error is hidden, in whatever letters', async () => {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(400, { 'content-type': 'application/json' })
      const message = 'email BO@example.org (or bo@Example.org) of Bo (Bo) is taken'
      response.end(JSON.stringify({ error: { code: 'VALIDATION_ERROR', message } }))
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  const lines: object[] = []
  const log = { debug: (event: object) => lines.push(event), warn: () => {} }
  const client = createClient({
    baseUrl: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    key: 'a-key',
    budget: memoryBudget(),
    signal: new AbortController().signal,
    log,
  })
  onTestFinished(client.close)
  const body = { email: 'bo@example.org', name: 'Bo' }
  const hidden = Object.values(body)
  const request = { method: 'PATCH', path: '/v', body, hidden, priority: 'write' } as const
  const failed = await client.send(request).catch((error: Error) => error)
  const seen = JSON.stringify([String(failed), failed, lines])
  expect(seen).toContain(
    'email [not stored] (or [not stored]) of [not stored] ([not stored]) is taken',
  )
  expect(seen).not.toMatch(/bo@example|\bBo\b/i)
})
