/** The widget token, which a server with a project key mints for a browser. */

import type { Json } from '../../core/row.ts'
import { type EpochMs, toTimestamp } from '../../core/time.ts'
import { purposes, type Random } from '../seed/random.ts'
import type { Switches } from '../switches.ts'
import { readBody } from './read-request.ts'

export const widgetPath = '/v1/widget/token'

const visitorFields = { email: 'string', name: 'string', company: 'string' } as const

/** A token for the session that the body describes. Throws Problem. */
export function mintToken(body: unknown, random: Random, requestNumber: number, now: EpochMs, s: Switches): Json {
  const { visitor, ttl } = readBody(body, {}, { visitor: 'object', metadata: 'object', ttl: 'integer' })
  if (visitor !== undefined) readBody(visitor, {}, visitorFields)
  const seconds = typeof ttl === 'number' ? ttl : 600
  const token = [1, 2, 3].map((part) => random(purposes.token, requestNumber, part).toString(36)).join('')
  return formatToken(s['token.answer'], `wgt_${token}`, { ttl: seconds, expiresAt: toTimestamp(now + seconds * 1000) })
}

function formatToken(
  shape: Switches['token.answer'],
  token: string,
  lifetime: { readonly [name: string]: Json },
): Json {
  switch (shape) {
    case 'token':
    case 'bare':
      return { token, ...lifetime }
    case 'access_token':
      return { access_token: token, token_type: 'Bearer', expires_in: lifetime.ttl ?? null }
    case 'text':
      return token
    case 'unnamed':
      return { id: '7f0c5a52-6f0d-4f8e-9a56-0b3c1d2e4f60', widget: { credential: token } }
    case 'none':
      return { id: '7f0c5a52-6f0d-4f8e-9a56-0b3c1d2e4f60', queued: true }
  }
}
