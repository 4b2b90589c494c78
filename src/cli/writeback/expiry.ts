/** The option `--expires`: how long a write-back may be sent. */
import { InvalidArgumentError, Option } from 'commander'
import { parseDuration } from '../../core/duration.ts'
import { type EpochMs, type Ms, rfc3339 } from '../../core/time.ts'

export const expiresOption = () =>
  new Option('--expires <duration>', 'do not send it after this time, for example 24h').argParser(parseExpiresOption)

function parseExpiresOption(text: string): Ms {
  const ms = parseDuration(text)
  if (ms === undefined || ms === 0) throw new InvalidArgumentError('Write a duration like 30m, 24h or 7d.')
  return ms
}

/** RFC 3339; null if it never expires. */
export function toExpiryTime(now: EpochMs, lifetimeMs: Ms | undefined): string | null {
  return lifetimeMs === undefined ? null : rfc3339(Math.floor((now + lifetimeMs) / 1000))
}
