/** Verifies that a delivery was signed with one of our secrets: HMAC-SHA256 over its bytes, in hexadecimal digits. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Secret } from '../core/secret.ts'

/** Takes the place of absent secrets: costs the same time, and is unknown to everyone. */
const placeholderKey = randomBytes(32).toString('hex')

/** Every delivery is compared with at least this many keys, so that its time does not reveal how many there are. */
const minComparisons = 4

/** `signature`: upper case and a `sha256=` prefix are accepted. The time does not reveal what was wrong. */
export function hasValidSignature(body: Buffer, signature: string | undefined, secrets: readonly Secret[]): boolean {
  const [, digits] = /^\s*(?:sha256=)?([0-9a-f]{64})\s*$/i.exec(signature ?? '') ?? []
  const given = Buffer.from(digits ?? '0'.repeat(64), 'hex')
  // An empty key would let anyone sign.
  const keys = secrets.map((secret) => secret.reveal()).filter((key) => key !== '')
  const others = Array.from({ length: Math.max(0, minComparisons - keys.length) }, () => placeholderKey)
  const matches = [...keys, ...others].map((key) =>
    timingSafeEqual(createHmac('sha256', key).update(body).digest(), given),
  )
  return matches.includes(true) && digits !== undefined
}
