/** The environment variables, by the setting that each one fills. */
import { roundNames } from '../core/schedule.ts'
import { shownName } from './shown.ts'

export type Variables = Readonly<Record<string, string | undefined>>

const prefix = 'DESKMIRROR_'
const globals = ['database_url', 'queue_url', 'http', 'concurrency', 'read_only', 'log_level'] as const
const perProject: readonly string[] = [
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
  ...roundNames.map((round) => `schedules.${round}`),
]
const secrets = ['api_key', 'webhook_secret'] as const
const known = new Set([...globals, 'http_token', ...perProject, ...secrets, 'api_key_file', 'config'].map(variableOf))

/** `rate` → `DESKMIRROR_RATE`, `schedules.analytics` → `DESKMIRROR_SCHEDULE_ANALYTICS`. */
export function variableOf(setting: string): string {
  return `${prefix}${setting.replace(/^schedules\./, 'schedule_').toUpperCase()}`
}

/** Settings that hold for every project unless it says otherwise: those of the whole program, and those of a project. */
export function globalsOf(variables: Variables): Record<string, unknown> {
  return { ...pick(variables, globals), ...referencesTo(variables, ['http_token']) }
}

export function projectDefaultsOf(variables: Variables): Record<string, unknown> {
  return pick(variables, perProject)
}

/** The references to the secrets of the one project that is described by variables. */
export function secretsOf(variables: Variables): Record<string, unknown> {
  const references = referencesTo(variables, secrets)
  const file = variables[variableOf('api_key_file')]
  return file === undefined ? references : { ...references, api_key: { file } }
}

/** Sentences about variables with our prefix that nothing reads: most likely typing errors. */
export function strangers(variables: Variables, referenced: ReadonlySet<string>): string[] {
  return Object.keys(variables)
    .filter((name) => name.startsWith(prefix) && !name.startsWith(`${prefix}TEST_`))
    .filter((name) => !known.has(name) && !referenced.has(name))
    .map((name) => `the variable ${shownName(name)} is set, but deskmirror knows no such variable`)
}

function referencesTo(variables: Variables, names: readonly string[]): Record<string, unknown> {
  const given = names.filter((name) => variables[variableOf(name)] !== undefined)
  return Object.fromEntries(given.map((name) => [name, { env: variableOf(name) }]))
}

function pick(variables: Variables, settings: readonly string[]): Record<string, unknown> {
  const given = settings.map((name) => [name, variables[variableOf(name)]] as const)
  return Object.fromEntries(given.filter(([, value]) => value !== undefined))
}
