/**
 * The log: one event a line on standard error, JSON for machines, short text for people at a
 * terminal.
 */
import { type LevelWithSilent, type Logger, pino, stdTimeFunctions } from 'pino'
import { redactSecrets } from './values/secret.ts'

export type { Logger } from 'pino'

const redactedKeys = ['key', 'apiKey', 'api_key', 'authorization', 'token', 'password', 'secret']

export function createLog(options: {
  readonly level: LevelWithSilent
  /** Short text instead of JSON. */
  readonly pretty: boolean
  /** Texts that must not appear in any line. */
  readonly secrets: readonly string[]
  /** Writes one line, which includes its line break. */
  readonly write: (line: string) => void
}): Logger {
  const paths = redactedKeys.flatMap((name) => [name, `*.${name}`])
  // In a JSON line the quotes and backslashes of a secret are escaped.
  const secrets = options.secrets.flatMap((value) => [value, JSON.stringify(value).slice(1, -1)])
  const write = (line: string) => {
    const safe = redactSecrets(line, secrets)
    options.write(options.pretty ? formatShort(safe) : safe)
  }
  const settings = {
    level: options.level,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (level: string) => ({ level }), bindings: () => ({}) },
    redact: { paths, censor: '[secret]' },
  }
  return pino(settings, { write })
}

/** `12:03:11 warn call.throttled wait_ms=2000 attempt=2` */
function formatShort(line: string): string {
  const { level, time, event, msg, ...fields }: Record<string, unknown> = JSON.parse(line)
  const words = Object.entries(fields).map(
    // Texts of others would otherwise control the terminal.
    ([key, value]) =>
      `${key}=${typeof value === 'string' ? value.replace(/[^\P{Cc}\n\t]/gu, ' ') : JSON.stringify(value)}`,
  )
  const timeOfDay = typeof time === 'string' ? time.slice(11, 19) : ''
  return `${[timeOfDay, level, event, msg, ...words].filter((part) => part !== undefined && part !== '').join(' ')}\n`
}
