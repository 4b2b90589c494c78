/** Which addresses a key may be sent to. */
import { expect, test } from 'vitest'
import { candidateWidgetUrls, parseBaseUrl } from '../../src/values/server-address.ts'

test.for<[string, string]>([
  ['https://api.example.com', 'https://api.example.com/'],
  ['https://api.example.com/v1/', 'https://api.example.com/v1'],
  ['https://api.example.com:8443/a/b', 'https://api.example.com:8443/a/b'],
  ['http://localhost:3000/v1', 'http://localhost:3000/v1'],
  ['http://127.0.0.1:3000', 'http://127.0.0.1:3000/'],
  ['http://127.8.9.10', 'http://127.8.9.10/'],
  ['http://[::1]:3000', 'http://[::1]:3000/'],
])('%s is allowed', ([text, url]) => {
  const result = parseBaseUrl(text)
  expect(result.ok && result.url.href).toBe(url)
})

test.for([
  ['https://h', 'https://h/'],
  ['https://h/v1', 'https://h/', 'https://h/v1'],
  ['https://h/api', 'https://h/api', 'https://h/'],
  ['https://h/api/v2/', 'https://h/api', 'https://h/', 'https://h/api/v2'],
])(
  'for %s the widget is tried without the version first, then at the root, then below the whole base URL',
  ([base = '', ...likely]) => {
    expect(candidateWidgetUrls(new URL(base)).map(({ href }) => href)).toEqual(likely)
  },
)

test.for([
  'http://example.com',
  'http://10.0.0.1',
  'http://127.0.0.1.example.com',
  'http://localhost.example.com',
  'http://128.0.0.1',
  'http://0.0.0.0',
  'ftp://example.com',
  'file:///etc/passwd',
  'https://user@example.com',
  'https://user:pass-word@example.com',
  'https://example.com/?a=1',
  'https://example.com/?',
  'https://example.com/#a',
  'example.com',
  '',
])('%j is refused, and the reason repeats no password', (text) => {
  const result = parseBaseUrl(text)
  expect(result.ok).toBe(false)
  expect(JSON.stringify(result)).not.toContain('pass-word')
})
