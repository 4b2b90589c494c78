/** The settings of the whole program: the warehouse, the queue, the HTTP address, the log. */
import { defaultRetention } from '../core/retention.ts'
import { consoleSetting } from './console-settings.ts'
import * as field from './fields.ts'
import type { ConfigProblem } from './problems.ts'
import {
  containsPassword,
  deferSecretErrors,
  plainPassword,
  secretField,
  secretReference,
  type UnreadableSecret,
} from './secret-fields.ts'
import {
  addressSetting,
  readVariables,
  type SettingValues,
  secretSetting,
  setting,
  valuesOf,
  variableName,
} from './setting.ts'
import type { ConfigResult, ConfigSources, RawSettings } from './sources.ts'
import { asRecord, checkSettings, locationOf } from './sources.ts'

export const globalSettings = {
  /** `sqlite:PATH` or `postgres://…`. */
  databaseUrl: addressSetting('database_url', field.databaseUrl.default('sqlite:deskmirror.db')),
  /** `redis://…`, `postgres://…` or `embedded`. */
  queueUrl: addressSetting('queue_url', field.queueUrl.default('embedded')),
  /** The address of the worker's HTTP server; null = off. `port` 0: any free one. An IPv6 `host` has no brackets. */
  http: setting('http', field.httpAddress.default({ host: '127.0.0.1', port: 8484 })),
  /** The token for all of HTTP: the metrics, the queue board, and the console unless people are named. Only the worker needs it, so only `reveal` throws (UserError). */
  httpToken: secretSetting('http_token', (read) => field.orNull(secretField(deferSecretErrors(read)))),
  /** Another token, which opens `/metrics` only. */
  metricsToken: secretSetting('metrics_token', (read) => field.orNull(secretField(deferSecretErrors(read)))),
  /** How many sync runs one worker process runs concurrently: 1 to 1000. */
  concurrency: setting('concurrency', field.concurrency.default(40)),
  /** For how long what grows without end is kept. */
  retention: setting('retention', field.retention.default(defaultRetention)),
  /** The service must not be changed. */
  readOnly: setting('read_only', field.flag.default(false)),
  /** Who may sign in to the console. */
  console: consoleSetting,
  /** Who decides on the command line; null = the user of the system. */
  person: setting('person', field.orNull(field.personName)),
  logLevel: setting('log_level', field.logLevel.default('info')),
}
const allSettings = Object.values(globalSettings)

export type GlobalConfig = SettingValues<typeof globalSettings> & {
  /** Whether the level is configured; false = it is the default. */
  readonly logLevelChosen: boolean
  /** Where `databaseUrl` is from, for errors. */
  readonly databaseSetting?: string
}

/** `fileSettings`: the file's top-level lines that are not defaults of projects. A variable wins over such a line. */
export function readGlobalConfig(sources: ConfigSources, fileSettings: RawSettings): ConfigResult<GlobalConfig> {
  const fromVariables = {
    ...readVariables(sources.variables, allSettings, 'value'),
    ...readVariables(sources.variables, allSettings, 'secret'),
  }
  const addresses = Object.entries(fileSettings).filter(([key]) => key.endsWith('_url') && !(key in fromVariables))
  const resolved = addresses.map(([key, value]) => [key, resolveReference(sources, value)] as const)
  const unreadable = resolved.flatMap(([key, secret]) =>
    'why' in secret ? [{ where: locationOf(sources, [key]), ...secret }] : [],
  )
  if (unreadable.length > 0) return { value: null, problems: unreadable }
  const referenced = Object.fromEntries(
    resolved.flatMap(([key, secret]) => ('value' in secret ? [[key, secret.value]] : [])),
  )
  const values = { ...fileSettings, ...referenced, ...fromVariables }
  const locate = (key: string) => (key in fromVariables ? variableName(key) : locationOf(sources, [key]))
  const checked = checkSettings(allSettings, values, sources.readSecret, locate)
  const problems = [...plainPasswordProblems(sources, fileSettings), ...checked.problems]
  if (checked.value === null) return { value: null, problems }
  const databaseSetting =
    'database_url' in fileSettings && !('database_url' in fromVariables)
      ? 'database_url of deskmirror.yaml'
      : variableName('database_url')
  const logLevelChosen = 'log_level' in values
  return { value: { ...valuesOf(globalSettings, checked.value), logLevelChosen, databaseSetting }, problems }
}

/** A server address may carry a password, so in the file it may be a reference like every other secret. */
function resolveReference(sources: ConfigSources, value: unknown): { readonly value: unknown } | UnreadableSecret {
  if (asRecord(value) === null) return { value }
  const reference = secretReference.safeParse(value).data
  if (reference === undefined) return { why: 'is not a reference: write { env: NAME } or { file: PATH }' }
  const found = sources.readSecret(reference)
  return 'why' in found ? found : { value: found[0].reveal() }
}

function plainPasswordProblems(sources: ConfigSources, fileSettings: RawSettings): ConfigProblem[] {
  return Object.entries(fileSettings)
    .filter(([, value]) => typeof value === 'string' && containsPassword(value))
    .map(([key]) => ({ where: locationOf(sources, [key]), why: plainPassword }))
}
