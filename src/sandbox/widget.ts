/** The widget token: minted for a browser by a server that holds a project key. */
import type { EpochMs } from '../core/time.ts'
import { readBody } from './ask.ts'
import { type Dice, purposes } from './dice.ts'
import { type Json, stamp } from './json.ts'

export const widgetPath = '/v1/widget/token'

const visitorFields = { email: 'string', name: 'string', company: 'string' } as const

/** A token for the session that the body describes. Throws Problem. */
export function mintToken(body: unknown, dice: Dice, requestNumber: number, now: EpochMs): Json {
  const { visitor, ttl } = readBody(body, {}, { visitor: 'object', metadata: 'object', ttl: 'integer' })
  if (visitor !== undefined) readBody(visitor, {}, visitorFields)
  const seconds = typeof ttl === 'number' ? ttl : 600
  const token = [1, 2, 3].map((part) => dice(purposes.token, requestNumber, part).toString(36)).join('')
  return { token: `wgt_${token}`, ttl: seconds, expiresAt: stamp(now + seconds * 1000) }
}
