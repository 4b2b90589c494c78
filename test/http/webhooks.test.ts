/** The webhook receiver. Real requests over loopback. */
import { createHmac } from 'node:crypto'
import { request } from 'node:http'
import { describe, expect, test } from 'vitest'
import { webhookRoutes } from '../../src/http/webhooks.ts'
import { type Secret, secret } from '../../src/values/secret.ts'
import { captureLog, startTestServer, tokenOptions } from './test-server.ts'

const [key, next] = ['whsec_one', 'whsec_two']
const body = Buffer.from(
  '{"type":"conversation.updated","conversationId":"5f1c1d52-6a51-4c1e-9a43-0d5f0b1c2d3e"}',
)
const sign = (over: Buffer | string, by = key) =>
  createHmac('sha256', by).update(over).digest('hex')

/** Starts a receiver for one project with a secret, and one without. */
async function startReceiver(
  secrets: readonly Secret[] = [secret(key)],
  over: Parameters<typeof startTestServer>[0] = {},
) {
  const captured = captureLog()
  const woken: string[] = []
  const counted: string[] = []
  const queue = { isAway: false }
  const projects = [
    {
      name: 'shop',
      projectId: '11111111-1111-4111-8111-111111111111',
      webhookSecrets: secrets,
    },
    { name: 'quiet', projectId: '22222222-2222-4222-8222-222222222222', webhookSecrets: [] },
  ]
  const receiver = webhookRoutes({
    projects: () => projects,
    wake: async (project) => {
      if (queue.isAway) throw new Error('cannot use the queue')
      woken.push(project)
    },
    onDelivery: (project, outcome) => void counted.push(`${project} ${outcome}`),
    log: captured.log,
  })
  const { address } = await startTestServer({ plugins: [receiver], ...over })
  const post = (path: string, bytes: Buffer | null, headers: Record<string, string> = {}) =>
    deliver(address + path, bytes, headers)
  const signed = (bytes: Buffer, headers: Record<string, string> = {}) =>
    post('/webhooks/shop', bytes, { 'x-service-signature': sign(bytes), ...headers })
  return { post, signed, queue, woken, counted, lines: captured.lines }
}

/** Sends the bytes as they are, and only the given headers. */
function deliver(url: string, bytes: Buffer | null, headers: Record<string, string>) {
  return new Promise<{ status: number; text: string }>((resolve, reject) => {
    const sent = request(url, { method: 'POST', headers, agent: false }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (part) => {
        text += part
      })
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }))
    })
    sent.on('error', reject)
    sent.end(bytes ?? undefined)
  })
}

const accepted = { status: 202, text: '{"accepted":true}' }

describe('a delivery with the right signature wakes a sync', () => {
  test('unless the queue is away: then the sender gets a 503, and refusals are not logged one by one', async () => {
    const { signed, queue, counted, lines } = await startReceiver()
    queue.isAway = true
    expect(await signed(Buffer.from('{}'))).toMatchObject({
      status: 503,
      text: expect.stringContaining('the queue does not answer'),
    })
    expect(counted).toEqual(['shop unavailable'])
    expect(lines.join()).not.toContain('webhook.')
  })

  test('by the name of the project, or by its id', async () => {
    const { post, woken, counted } = await startReceiver()
    const headers = { 'x-service-signature': sign(body) }
    expect(await post('/webhooks/shop', body, headers)).toEqual(accepted)
    const other = Buffer.from('{}')
    const byId = await post('/webhooks/11111111-1111-4111-8111-111111111111', other, {
      'x-service-signature': sign(other),
    })
    expect(byId).toEqual(accepted)
    expect(woken).toEqual(['shop', 'shop'])
    expect(counted).toEqual(['shop accepted', 'shop accepted'])
  })

  test.each([
    ['in capitals', (hex: string) => hex.toUpperCase()],
    ['after sha256=', (hex: string) => `sha256=${hex}`],
    ['after SHA256=, in capitals', (hex: string) => `SHA256=${hex.toUpperCase()}`],
  ])('written %s', async (_, write) => {
    const { signed } = await startReceiver()
    expect(await signed(body, { 'x-service-signature': write(sign(body)) })).toEqual(accepted)
  })

  test.each([
    ['bytes that are not UTF-8', Buffer.from([0xff, 0x00, 0xfe, 0x7b, 0xc3])],
    [
      'white space and a field order that parsers do not preserve',
      Buffer.from(' {"b":1,\t"a":1.0}\r\n'),
    ],
    ['text that is not JSON', Buffer.from('a=1&b=2')],
    ['truncated JSON', Buffer.from('{"a":')],
    ['nothing', Buffer.alloc(0)],
  ])('over %s, unchanged', async (_, bytes) => {
    const { signed, woken } = await startReceiver()
    expect(await signed(bytes, { 'content-type': 'application/json' })).toEqual(accepted)
    expect(woken).toEqual(['shop'])
  })

  test.each([
    'application/json; charset=utf-8',
    'application/json; charset=utf-16',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'text/plain',
    'no type at all',
    '/',
    '',
    null,
  ])('whatever its content type: %j', async (type) => {
    const { signed, woken } = await startReceiver()
    expect(await signed(body, type === null ? {} : { 'content-type': type })).toEqual(accepted)
    expect(woken).toEqual(['shop'])
  })

  test('with any of several secrets, while one replaces another', async () => {
    const { post } = await startReceiver([secret(next), secret(key)])
    for (const [n, by] of [key, next].entries()) {
      const own = Buffer.from(`{"n":${n}}`)
      expect(await post('/webhooks/shop', own, { 'x-service-signature': sign(own, by) })).toEqual(
        accepted,
      )
    }
  })

  test('of 256 KiB at most, more than the longest message takes', async () => {
    const { signed, woken } = await startReceiver()
    expect(await signed(Buffer.alloc(262_144, 'x'))).toEqual(accepted)
    expect((await signed(Buffer.alloc(262_145, 'x'))).status).toBe(413)
    expect(woken).toHaveLength(1)
  })

  test('under any host name, with and without a token of the server', async () => {
    for (const over of [{}, tokenOptions]) {
      const { signed } = await startReceiver([secret(key)], over)
      expect(await signed(body, { host: 'hooks.example.com' })).toEqual(accepted)
    }
  })
})

describe('any other delivery gets a 401 without the reason', () => {
  const right = sign(body)
  const rejections: Record<
    string,
    { path?: string; headers: Record<string, string>; secrets?: readonly Secret[] }
  > = {
    'no signature': { headers: {} },
    'an empty one': { headers: { 'x-service-signature': '' } },
    'another secret': { headers: { 'x-service-signature': sign(body, 'another') } },
    'another body': { headers: { 'x-service-signature': sign('{}') } },
    'a digit less': { headers: { 'x-service-signature': right.slice(1) } },
    'a digit more': { headers: { 'x-service-signature': `${right}0` } },
    'no hexadecimal digits': { headers: { 'x-service-signature': `${right.slice(1)}g` } },
    'another algorithm': { headers: { 'x-service-signature': `sha1=${right}` } },
    'zeros only': { headers: { 'x-service-signature': '0'.repeat(64) } },
    'two of them': { headers: { 'x-service-signature': `${right}, ${right}` } },
    'another header': { headers: { 'x-signature': right } },
    'an unknown project': { path: '/webhooks/nobody', headers: { 'x-service-signature': right } },
    'a project without a secret': {
      path: '/webhooks/quiet',
      headers: { 'x-service-signature': right },
    },
    'a project without a secret, signed with nothing': {
      path: '/webhooks/quiet',
      headers: { 'x-service-signature': sign(body, '') },
    },
    'a secret that is empty': {
      headers: { 'x-service-signature': sign(body, '') },
      secrets: [secret('')],
    },
    'the name of a built-in': {
      path: '/webhooks/__proto__',
      headers: { 'x-service-signature': right },
    },
  }

  test.each(Object.keys(rejections))('%s', async (name) => {
    const { path = '/webhooks/shop', headers, secrets } = rejections[name]!
    const { post, woken } = await startReceiver(secrets)
    expect(await post(path, body, { 'content-type': 'application/json', ...headers })).toEqual({
      status: 401,
      text: '{"error":"this is not signed with a secret of this project"}',
    })
    expect(woken).toEqual([])
  })

  test('and the log names the project, without the body, the signature or the secret', async () => {
    const { post, lines, counted } = await startReceiver()
    await post('/webhooks/shop', body, { 'x-service-signature': sign(body, 'another') })
    await post('/webhooks/nobody', body)
    expect(lines.at(-2)).toMatch(/"event":"webhook\.rejected","project":"shop","signed":true/)
    expect(lines.at(-1)).toMatch(/"event":"webhook\.rejected","project":null,"signed":false/)
    expect(lines.join()).not.toMatch(new RegExp(`5f1c1d52|${sign(body, 'another')}|whsec|nobody`))
    expect(counted).toEqual(['shop rejected', 'null rejected'])
  })

  test('and a flood of them is counted, and logged once', async () => {
    const { post, lines, counted } = await startReceiver()
    for (let n = 0; n < 50; n++)
      await post('/webhooks/shop', body, { 'x-service-signature': sign(`${n}`) })
    expect(lines.filter((line) => line.includes('webhook.rejected'))).toHaveLength(1)
    expect(counted).toHaveLength(50)
  })
})
