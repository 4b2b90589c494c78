/** The page of the queues, as a browser gets it. */
import { expect, test } from 'vitest'
import { boardOf } from '../../jobs/board.ts'
import { serve, token, withToken } from '../http/serving.ts'

test('the page of the queues comes from this server alone, and lets the browser ask no other host', async () => {
  const { ask } = await serve({ ...withToken, plugins: [boardOf([])] })
  const { status, headers, text } = await ask('/queues/', { headers: { authorization: `Bearer ${token}` } })
  expect(status).toBe(200)
  expect(text).toContain('id="root"')
  const loaded = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address = '']) => address)
  expect(loaded.length).toBeGreaterThan(3)
  expect(loaded.filter((address) => /^(https?:)?\/\//.test(address))).toEqual([])
  expect(headers['content-security-policy']).toMatch(/^default-src 'self';/)
})
