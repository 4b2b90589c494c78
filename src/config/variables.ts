/** The environment variables, by the setting that each one fills. */
import { scheduleNames } from '../core/schedule.ts'
import { redactName } from './redaction.ts'

export type Variables = Readonly<Record<string, string | undefined>>

const prefix = 'DESKMIRROR_'
const globalSettings = ['database_url', 'queue_url', 'http', 'concurrency', 'read_only', 'log_level'] as const
const projectSettings: readonly string[] = [
  'base_url',
  'project_id',
  'widget_url',
  'rate',
  'write_rate',
  'start_date',
  'time_zone',
  'look_back',
  'verify_after',
  'resend_replies',
  'approve_over',
  ...scheduleNames.map((schedule) => `schedules.${schedule}`),
]
const secretSettings = ['api_key', 'webhook_secret'] as const
const knownVariables = new Set(
  [...globalSettings, 'http_token', ...projectSettings, ...secretSettings, 'api_key_file', 'config'].map(variableName),
)

/** `rate` → `DESKMIRROR_RATE`, `schedules.analytics` → `DESKMIRROR_SCHEDULE_ANALYTICS`. */
export function variableName(setting: string): string {
  return `${prefix}${setting.replace(/^schedules\./, 'schedule_').toUpperCase()}`
}

/** The settings of the whole program. */
export function readGlobalVariables(variables: Variables): Record<string, unknown> {
  return { ...pickVariables(variables, globalSettings), ...referencesTo(variables, ['http_token']) }
}

export function readProjectVariables(variables: Variables): Record<string, unknown> {
  return pickVariables(variables, projectSettings)
}

/** The references to the secrets of the project that variables describe. */
export function readSecretReferences(variables: Variables): Record<string, unknown> {
  const references = referencesTo(variables, secretSettings)
  const file = variables[variableName('api_key_file')]
  return file === undefined ? references : { ...references, api_key: { file } }
}

/** Sentences about variables with our prefix that nothing reads, which are most likely typing errors. */
export function unknownVariables(variables: Variables, referenced: ReadonlySet<string>): string[] {
  return Object.keys(variables)
    .filter((name) => name.startsWith(prefix) && !name.startsWith(`${prefix}TEST_`))
    .filter((name) => !knownVariables.has(name) && !referenced.has(name))
    .map((name) => `the variable ${redactName(name)} is set, but deskmirror does not know it`)
}

function referencesTo(variables: Variables, names: readonly string[]): Record<string, unknown> {
  const given = names.filter((name) => variables[variableName(name)] !== undefined)
  return Object.fromEntries(given.map((name) => [name, { env: variableName(name) }]))
}

function pickVariables(variables: Variables, settings: readonly string[]): Record<string, unknown> {
  const given = settings.map((name) => [name, variables[variableName(name)]] as const)
  return Object.fromEntries(given.filter(([, value]) => value !== undefined))
}
