/** Which configuration changes a running worker cannot apply. Pure. */
import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../src/config/config.ts'

const restartSettings = {
  databaseUrl: 'database_url',
  queueUrl: 'queue_url',
  http: 'http',
  httpToken: 'http_token',
  concurrency: 'concurrency',
  logLevel: 'log_level',
} as const satisfies Partial<Record<keyof Config, string>>

/** The names of the settings, as written in the file. */
export function settingsNeedingRestart(before: Config, after: Config): readonly string[] {
  const keys = Object.keys(restartSettings) as (keyof typeof restartSettings)[]
  return keys
    .filter((key) => !isDeepStrictEqual(comparableValue(before, key), comparableValue(after, key)))
    .map((key) => restartSettings[key])
}

function comparableValue(config: Config, key: keyof typeof restartSettings): unknown {
  return key === 'httpToken' ? config.httpToken?.reveal() : config[key]
}
