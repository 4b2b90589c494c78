/** The settings of the whole program: the warehouse, the queue, the HTTP address, the log. */
import { z } from 'zod'
import { passwordsInUrl } from '../core/server-url.ts'
import type { Config } from './config.ts'
import * as field from './fields.ts'
import type { ConfigProblem } from './problems.ts'
import { deferSecretErrors, secretField, secretReference, type UnreadableSecret } from './secret-fields.ts'
import type { ConfigResult, ConfigSources, RawSettings } from './sources.ts'
import { asRecord, locationOf, toConfigProblems } from './sources.ts'
import { readGlobalVariables, variableName } from './variables.ts'

export type GlobalConfig = Omit<Config, 'projects' | 'warnings'>

/** The token is read on first use, because only the worker needs it. */
const globalFields = ({ readSecret }: ConfigSources) => ({
  database_url: field.databaseUrl.default('sqlite:deskmirror.db'),
  queue_url: field.queueUrl.default('embedded'),
  http: field.httpAddress.default({ host: '127.0.0.1', port: 8484 }),
  http_token: secretField(deferSecretErrors(readSecret)).optional(),
  concurrency: field.concurrency.default(40),
  read_only: field.flag.default(false),
  log_level: field.logLevel.default('info'),
})

/** `fileSettings`: the file's top-level lines that are not defaults of projects. A variable wins over such a line. */
export function readGlobalConfig(sources: ConfigSources, fileSettings: RawSettings): ConfigResult<GlobalConfig> {
  const fromVariables = readGlobalVariables(sources.variables)
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
  const result = z.strictObject(globalFields(sources)).safeParse(values)
  const problems = plainPasswordProblems(sources, fileSettings)
  if (!result.success)
    return { value: null, problems: [...problems, ...toConfigProblems(result.error, values, locate)] }
  const { database_url, queue_url, http, http_token, concurrency, read_only, log_level } = result.data
  const value = {
    databaseUrl: database_url,
    queueUrl: queue_url,
    http,
    httpToken: http_token ?? null,
    concurrency,
    readOnly: read_only,
    logLevel: log_level,
    logLevelChosen: 'log_level' in values,
  }
  return { value, problems }
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
  const why = 'contains a password: keep it in a variable or a file, and write { env: NAME } or { file: PATH } here'
  return Object.entries(fileSettings)
    .filter(([, value]) => typeof value === 'string' && containsPassword(value))
    .map(([key]) => ({ where: locationOf(sources, [key]), why }))
}

/** Also a password that no valid URL can hold, because of a `/` or a space in it. */
function containsPassword(text: string): boolean {
  const user = text.slice(text.indexOf('://') + 3, Math.max(0, text.lastIndexOf('@')))
  return (text.includes('://') && user.includes(':')) || passwordsInUrl(text).length > 0
}
