/** Which changes of the configuration a running worker cannot take over. Pure. */
import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../src/config.ts'

const fixed = {
  databaseUrl: 'database_url',
  queueUrl: 'queue_url',
  http: 'http',
  httpToken: 'http_token',
  concurrency: 'concurrency',
  logLevel: 'log_level',
} as const satisfies Partial<Record<keyof Config, string>>

/** Names of the settings, as they are written in the file. */
export function restartsFor(before: Config, after: Config): readonly string[] {
  const keys = Object.keys(fixed) as (keyof typeof fixed)[]
  return keys.filter((key) => !isDeepStrictEqual(told(before, key), told(after, key))).map((key) => fixed[key])
}

function told(config: Config, key: keyof typeof fixed): unknown {
  return key === 'httpToken' ? config.httpToken?.reveal() : config[key]
}
