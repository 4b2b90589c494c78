/** The settings of the whole program: the warehouse, the queue, the HTTP address, the log. */
import * as field from './fields.ts'
import { lakeField } from './lake-setting.ts'
import { consoleSetting } from './people.ts'
import type { ConfigProblem } from './problems.ts'
import { queueUrl, queueUrlHelp } from './queue-backends.ts'
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
  asRecord,
  type ConfigSources,
  checkSettings,
  type LocateSetting,
  locationOf,
  type RawSettings,
  readVariables,
  type SettingValues,
  secretSetting,
  setting,
  valuesOf,
  variableName,
} from './setting.ts'

export const defaultDatabaseUrl = 'sqlite:deskmirror.db'

export const globalSettings = {
  databaseUrl: addressSetting('database_url', field.databaseUrl.default(defaultDatabaseUrl)).about(
    'The warehouse: `sqlite:PATH`, or `postgres://user:password@host/database`, with ' +
      '`?schema=NAME` for another schema than `public`.',
  ),
  /** Null: the warehouse is asked as it is written. */
  analystDatabaseUrl: addressSetting('analyst_database_url', field.orNull(field.databaseUrl)).about(
    'The same Postgres database as a role that only reads what analysts may (`migrate ' +
      '--grant`): statements of assistants run as it.',
  ),
  queueUrl: addressSetting('queue_url', queueUrl.default('embedded')).about(queueUrlHelp),
  /** Null: off. `port` 0: any free one. An IPv6 `host` has no brackets. */
  http: setting('http', field.httpAddress.default({ host: '127.0.0.1', port: 8484 })).about(
    'The address of the HTTP server of the worker, or `off`.',
  ),
  /** Only the worker needs it, so only `reveal` throws (UserError). */
  httpToken: secretSetting('http_token', (read) =>
    field.orNull(secretField(deferSecretErrors(read))),
  ).about('The token for `/metrics`, `/queues` and, unless people are named, `/console`.'),
  trustedProxies: setting('trusted_proxies', field.proxyAddresses.default([])).about(
    'Addresses of reverse proxies, like `127.0.0.1` or `10.0.0.0/8`, a list or separated ' +
      'by commas: only their `X-Forwarded-For` says who sent a wrong token.',
  ),
  metricsToken: secretSetting('metrics_token', (read) =>
    field.orNull(secretField(deferSecretErrors(read))),
  ).about('Another token, which opens `/metrics` only: the one for Prometheus.'),
  concurrency: setting('concurrency', field.concurrency.default(40)).about(
    'How many sync jobs one worker process runs in parallel: 1 to 1000.',
  ),
  retention: setting('retention', field.retention.default(field.defaultRetention)).about(
    'How long is kept what grows without end. What is not named keeps its default; `forever`: ' +
      'nothing is deleted. At least `1d`, `writebacks` and `events` at least `91d`.',
  ),
  /** Null: the worker writes none. */
  lake: setting('lake', field.orNull(lakeField)).about(
    'A folder in which the worker keeps a [lake](../analytics.md#a-lake) of all projects, or ' +
      '`{ folder: lake, objects: [messages], schedule: 6h }`. `objects`: all that is mirrored; ' +
      '`schedule`: `nightly`, in the time zone of the first project; `off`: by `export --lake` only.',
  ),
  readOnly: setting('read_only', field.flag.default(false)).about(
    '`on`: nothing in the service can be changed, by any command or project.',
  ),
  console: consoleSetting,
  /** Null: notifications name the address of `http`. */
  consoleUrl: setting('console_url', field.orNull(field.webAddress)).about(
    'Where people reach the console, for links in notifications, like ' +
      '`https://desk.example.com`. Without it: the address of `http`.',
  ),
  /** Null: the user of the system. */
  person: setting('person', field.orNull(field.personName)).about(
    'Who decides on the command line; `--as NAME` wins. Without it: the user of the system.',
  ),
  logLevel: setting('log_level', field.logLevel.default('info')).about(
    '`trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`. Unless it is set, a ' +
      'terminal shows `warn`.',
  ),
}
const allSettings = Object.values(globalSettings)

export type GlobalConfig = SettingValues<typeof globalSettings> & {
  /** Whether the level is configured; false = it is the default. */
  readonly logLevelChosen: boolean
  /** Where `databaseUrl` is from, for errors. */
  readonly databaseSetting?: string | undefined
}

/**
 * `fileSettings`: top-level lines that are no defaults of projects. A variable wins. `others`: what
 * else may stand there.
 */
export function readGlobalConfig(
  sources: ConfigSources,
  fileSettings: RawSettings,
  problems: ConfigProblem[],
  others: readonly string[],
): GlobalConfig | null {
  const fromVariables = {
    ...readVariables(sources.variables, allSettings, 'value'),
    ...readVariables(sources.variables, allSettings, 'secret'),
  }
  const addresses = Object.keys(fileSettings).filter(
    (key) => key.endsWith('_url') && !(key in fromVariables),
  )
  const values: Record<string, unknown> = { ...fileSettings, ...fromVariables }
  let isReadable = true
  for (const key of addresses) {
    const found = resolveReference(sources, fileSettings[key])
    if ('value' in found) values[key] = found.value
    else problems.push({ where: locationOf(sources, [key]), why: found.why })
    isReadable &&= 'value' in found
  }
  if (!isReadable) return null
  for (const [key, value] of Object.entries(fileSettings))
    if (typeof value === 'string' && containsPassword(value))
      problems.push({ where: locationOf(sources, [key]), why: plainPassword })
  const locate: LocateSetting = (key, within = []) =>
    key in fromVariables ? variableName(key) : locationOf(sources, [key, ...within])
  const checked = checkSettings(allSettings, values, sources.readSecret, locate, problems, others)
  if (checked === null) return null
  const isInFile = 'database_url' in fileSettings && !('database_url' in fromVariables)
  const databaseSetting = isInFile
    ? 'database_url of deskmirror.yaml'
    : variableName('database_url')
  return {
    ...valuesOf(globalSettings, checked),
    logLevelChosen: 'log_level' in values,
    databaseSetting,
  }
}

/** A server address may carry a password, so in the file it may be a reference. */
function resolveReference(
  sources: ConfigSources,
  value: unknown,
): { readonly value: unknown } | UnreadableSecret {
  if (asRecord(value) === null) return { value }
  const reference = secretReference.safeParse(value).data
  if (reference === undefined)
    return { why: 'is not a reference: write { env: NAME } or { file: PATH }' }
  const found = sources.readSecret(reference)
  return 'why' in found ? found : { value: found[0].reveal() }
}
