/** Whether a delivery was signed with one of our secrets: HMAC-SHA256 over its bytes, in hexadecimal digits. Pure but for its dice. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Secret } from '../core/secret.ts'

/** For whom there is no secret: so much work as where there is one, and nobody can know it. */
const nobodys = randomBytes(32).toString('hex')

/** `signature`: upper case and a `sha256=` before it are accepted. The time that it takes does not tell what was wrong. */
export function isSigned(body: Buffer, signature: string | undefined, secrets: readonly Secret[]): boolean {
  const [, digits] = /^\s*(?:sha256=)?([0-9a-f]{64})\s*$/i.exec(signature ?? '') ?? []
  const given = Buffer.from(digits ?? '0'.repeat(64), 'hex')
  // An empty key would let everybody sign.
  const keys = secrets.map((secret) => secret.reveal()).filter((key) => key !== '')
  const matches = (keys.length === 0 ? [nobodys] : keys).map((key) =>
    timingSafeEqual(createHmac('sha256', key).update(body).digest(), given),
  )
  return matches.includes(true) && digits !== undefined
}
