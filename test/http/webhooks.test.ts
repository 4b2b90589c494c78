/** The webhook receiver. Real requests over loopback. */
import { createHmac } from 'node:crypto'
import { request } from 'node:http'
import { describe, expect, test } from 'vitest'
import { type DeliveryReceipt, webhookRoutes } from '../../src/http/webhooks.ts'
import { type Secret, secret } from '../../src/values/secret.ts'
import { captureLog, startTestServer, tokenOptions } from './test-server.ts'

const [key, next] = ['whsec_one', 'whsec_two']
const body = Buffer.from('{"type":"conversation.updated","conversationId":"5f1c1d52-6a51-4c1e-9a43-0d5f0b1c2d3e"}')
const sign = (over: Buffer | string, by = key) => createHmac('sha256', by).update(over).digest('hex')

/** Starts a receiver for one project with a secret, and one without. */
async function startReceiver(
  secrets: readonly Secret[] = [secret(key)],
  over: Parameters<typeof startTestServer>[0] = {},
) {
  const captured = captureLog()
  const stored: { project: string; body: Buffer }[] = []
  const counted: string[] = []
  const projects = [
    { name: 'shop', id: '11111111-1111-4111-8111-111111111111', secrets },
    { name: 'quiet', id: '22222222-2222-4222-8222-222222222222', secrets: [] },
  ]
  const capacity = { left: 1000 }
  const receive = async (project: string, delivered: Buffer): Promise<DeliveryReceipt> => {
    if (stored.length >= capacity.left) return 'full'
    const isKnown = stored.some((delivery) => delivery.body.equals(delivered))
    if (!isKnown) stored.push({ project, body: delivered })
    return isKnown ? 'repeated' : 'accepted'
  }
  const receiver = webhookRoutes({
    findProject: (named) => projects.find(({ name, id }) => name === named || id === named),
    storeDelivery: receive,
    onDelivery: (project, outcome) => void counted.push(`${project} ${outcome}`),
    log: captured.log,
  })
  const { address } = await startTestServer({ plugins: [receiver], ...over })
  const post = (path: string, bytes: Buffer | null, headers: Record<string, string> = {}) =>
    deliver(address + path, bytes, headers)
  const signed = (bytes: Buffer, headers: Record<string, string> = {}) =>
    post('/webhooks/shop', bytes, { 'x-service-signature': sign(bytes), ...headers })
  return { post, signed, stored, counted, capacity, lines: captured.lines }
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

describe('a delivery with the right signature is stored', () => {
  test('unless too many are pending: then the sender gets a 503, and refusals are not logged one by one', async () => {
    const { signed, stored, counted, capacity, lines } = await startReceiver()
    capacity.left = 0
    expect(await signed(Buffer.from('{}'))).toMatchObject({ status: 503, text: expect.stringContaining('too many') })
    expect([stored, counted]).toEqual([[], ['shop full']])
    expect(lines.join()).not.toContain('webhook.')
  })

  test('by the name of the project, or by its id', async () => {
    const { post, stored, counted } = await startReceiver()
    const headers = { 'x-service-signature': sign(body) }
    expect(await post('/webhooks/shop', body, headers)).toEqual(accepted)
    const other = Buffer.from('{}')
    const byId = await post('/webhooks/11111111-1111-4111-8111-111111111111', other, {
      'x-service-signature': sign(other),
    })
    expect(byId).toEqual(accepted)
    expect(stored).toEqual([
      { project: 'shop', body },
      { project: 'shop', body: other },
    ])
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
    ['white space and a field order that parsers do not preserve', Buffer.from(' {"b":1,\t"a":1.0}\r\n')],
    ['text that is not JSON', Buffer.from('a=1&b=2')],
    ['truncated JSON', Buffer.from('{"a":')],
    ['nothing', Buffer.alloc(0)],
  ])('over %s, unchanged', async (_, bytes) => {
    const { signed, stored } = await startReceiver()
    expect(await signed(bytes, { 'content-type': 'application/json' })).toEqual(accepted)
    expect(stored).toEqual([{ project: 'shop', body: bytes }])
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
    const { signed, stored } = await startReceiver()
    expect(await signed(body, type === null ? {} : { 'content-type': type })).toEqual(accepted)
    expect(stored).toEqual([{ project: 'shop', body }])
  })

  test('with any of several secrets, while one replaces another', async () => {
    const { post } = await startReceiver([secret(next), secret(key)])
    for (const [n, by] of [key, next].entries()) {
      const own = Buffer.from(`{"n":${n}}`)
      expect(await post('/webhooks/shop', own, { 'x-service-signature': sign(own, by) })).toEqual(accepted)
    }
  })

  test('once: a repeated one gets the same answer', async () => {
    const { signed, stored, counted } = await startReceiver()
    expect([await signed(body), await signed(body)]).toEqual([accepted, accepted])
    expect([stored.length, counted]).toEqual([1, ['shop accepted', 'shop repeated']])
  })

  test('of 64 KiB at most', async () => {
    const { signed, stored } = await startReceiver()
    expect(await signed(Buffer.alloc(65_536, 'x'))).toEqual(accepted)
    expect((await signed(Buffer.alloc(65_537, 'x'))).status).toBe(413)
    expect(stored).toHaveLength(1)
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
  const rejections: Record<string, { path?: string; headers: Record<string, string>; secrets?: readonly Secret[] }> = {
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
    'a project without a secret': { path: '/webhooks/quiet', headers: { 'x-service-signature': right } },
    'a project without a secret, signed with nothing': {
      path: '/webhooks/quiet',
      headers: { 'x-service-signature': sign(body, '') },
    },
    'a secret that is empty': { headers: { 'x-service-signature': sign(body, '') }, secrets: [secret('')] },
    'the name of a built-in': { path: '/webhooks/__proto__', headers: { 'x-service-signature': right } },
  }

  test.each(Object.keys(rejections))('%s', async (name) => {
    const { path = '/webhooks/shop', headers, secrets } = rejections[name]!
    const { post, stored } = await startReceiver(secrets)
    expect(await post(path, body, { 'content-type': 'application/json', ...headers })).toEqual({
      status: 401,
      text: '{"error":"this is not signed with a secret of this project"}',
    })
    expect(stored).toEqual([])
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
})

test('a warehouse error leaves the retry to the sender', async () => {
  const { log } = captureLog()
  const project = () => ({ name: 'shop', secrets: [secret(key)] })
  const receive = () => Promise.reject(new Error('the disk is full'))
  const { address } = await startTestServer({
    plugins: [webhookRoutes({ findProject: project, storeDelivery: receive, onDelivery: () => {}, log })],
    log,
  })
  const answer = await deliver(`${address}/webhooks/shop`, body, { 'x-service-signature': sign(body) })
  expect(answer).toEqual({ status: 500, text: '{"error":"internal error; see the log"}' })
})
