/**
 * A setting: its name, its variable and its check; and where settings come from. The types of the
 * configuration are derived from tables of them.
 */
import { z } from 'zod'
import { nearestNames } from '../values/nearest-names.ts'
import { type ConfigProblem, describeProblem, maxProblems, redactName } from './problems.ts'
import type { ReadSecret } from './secret-fields.ts'
import type { YamlFile } from './yaml-file.ts'

export type Setting<Value = unknown> = {
  /** Its name in the YAML file. */
  readonly name: string
  /** For docs/reference/settings.md. */
  readonly about: string
  /** What its variable holds: its value, or a secret. Null: it has no variable. */
  readonly variable: 'value' | 'secret' | null
  /** A secret, or an address that may hold one: never printed, and redacted from all output. */
  readonly isSensitive: boolean
  readonly field: (read: ReadSecret) => z.ZodType<Value>
}

export type Settings = Readonly<Record<string, Setting>>

export type SettingValues<Table extends Settings> = {
  readonly [Key in keyof Table]: Table[Key] extends Setting<infer Value> ? Value : never
}

/** A setting, once it is said what it is `about`. */
function undescribed<Value>(setting: Omit<Setting<Value>, 'about'>) {
  return { about: (about: string): Setting<Value> => ({ ...setting, about }) }
}

/** A setting of the file and of a variable. */
export const setting = <Value>(name: string, field: z.ZodType<Value>) =>
  undescribed({ name, variable: 'value', isSensitive: false, field: () => field })

/** An address, which may contain a password that no pattern finds. */
export const addressSetting = <Value>(name: string, field: z.ZodType<Value>) =>
  undescribed({ name, variable: 'value', isSensitive: true, field: () => field })

/** A setting of the file only. */
export const fileSetting = <Value>(name: string, field: z.ZodType<Value>) =>
  undescribed({ name, variable: null, isSensitive: false, field: () => field })

/**
 * A map whose lines are settings, such as `analytics.hours`: what remains is no map, and refused.
 */
export const mapSetting = (name: string, allowed: string) =>
  fileSetting(name, z.undefined({ error: allowed }).optional()).about('')

/** A reference to a secret in the file, or the secret in a variable. */
export const secretSetting = <Value>(name: string, field: Setting<Value>['field']) =>
  undescribed({ name, variable: 'secret', isSensitive: true, field })

export function valuesOf<Table extends Settings>(
  table: Table,
  checked: Readonly<Record<string, unknown>>,
) {
  const values = Object.entries(table).map(([key, { name }]) => [key, checked[name]])
  return Object.fromEntries(values) as SettingValues<Table>
}

/** The defaults of a table, except for the keys of `own`. Throws if another setting has none. */
export function defaultsOf<Table extends Settings>(
  table: Table,
  own: object,
): SettingValues<Table> {
  const others = Object.entries(table).filter(([key]) => !(key in own))
  const noSecret: ReadSecret = () => ({ why: 'is not read for a default' })
  const values = others.map(([key, { field }]) => [key, field(noSecret).parse(undefined)])
  return Object.fromEntries(values) as SettingValues<Table>
}

export type Variables = Readonly<Record<string, string | undefined>>

export const variablePrefix = 'DESKMIRROR_'

/** `rate` → `DESKMIRROR_RATE`, `schedules.analytics` → `DESKMIRROR_SCHEDULE_ANALYTICS`. */
export function variableName(setting: string): string {
  return `${variablePrefix}${setting.replace(/^schedules\./, 'schedule_').toUpperCase()}`
}

/** What variables give for these settings: the values, or references to the secrets. */
export function readVariables(
  variables: Variables,
  settings: readonly Setting[],
  kind: 'value' | 'secret',
) {
  const given = settings
    .filter(
      ({ name, variable }) => variable === kind && variables[variableName(name)] !== undefined,
    )
    .map(({ name }) => [
      name,
      kind === 'value' ? variables[variableName(name)] : { env: variableName(name) },
    ])
  return Object.fromEntries(given)
}

/**
 * What the command needs: all of it (the worker), the service (the same, but it posts nothing to
 * the address of `notify`; `check` judges that address itself), the mirror (a project, but no key),
 * or only the database (incomplete projects are left out).
 */
export type ConfigNeeds = 'worker' | 'service' | 'check' | 'mirror' | 'database'

export type ConfigSources = {
  readonly variables: Variables
  readonly yaml: YamlFile | null
  readonly readSecret: ReadSecret
  readonly needs: ConfigNeeds
}

export type RawSettings = Readonly<Record<string, unknown>>

export function asRecord(value: unknown): RawSettings | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as RawSettings)
    : null
}

/** Names of settings, and positions in lists. */
type SettingPath = readonly (string | number)[]

/** `deskmirror.yaml:7 projects.shop.rate`. The line shows the position in a list. */
export function locationOf({ yaml }: ConfigSources, path: SettingPath): string {
  const names = path.filter((part) => typeof part === 'string')
  return [yaml?.locate(path) ?? 'deskmirror.yaml', names.map(redactName).join('.')]
    .filter((part) => part !== '')
    .join(' ')
}

/** Returns the location of a setting by its name, or of a line within its value. */
export type LocateSetting = (name: string, within?: SettingPath) => string

/**
 * By their names in the file; any other is refused. `others`: names beside them that may be meant.
 * Null: it has added problems.
 */
export function checkSettings(
  settings: readonly Setting[],
  values: RawSettings,
  readSecret: ReadSecret,
  locate: LocateSetting,
  problems: ConfigProblem[],
  others: readonly string[] = [],
): RawSettings | null {
  const schema = z.strictObject(
    Object.fromEntries(settings.map(({ name, field }) => [name, field(readSecret)])),
  )
  const checked = schema.safeParse(values)
  if (checked.success) return checked.data
  const locateIn = ([name = '', ...within]: SettingPath) => locate(String(name), within)
  const known = [...settings.map(({ name }) => name), ...others]
  for (const issue of checked.error.issues.slice(0, maxProblems + 1)) {
    const path = issue.path.map((part) => (typeof part === 'number' ? part : String(part)))
    if (issue.code === 'unrecognized_keys') {
      for (const name of issue.keys.slice(0, maxProblems + 1)) {
        const map = name.slice(0, name.lastIndexOf('.') + 1)
        const near = path.length > 0 ? '' : suggestNearest(map, name, known)
        problems.push({ where: locateIn([...path, name]), why: `is an unknown setting${near}` })
      }
      continue
    }
    const found = path.reduce((value: unknown, step) => Object(value)[step], values)
    const isSensitive = settings.some((setting) => setting.name === path[0] && setting.isSensitive)
    problems.push({
      where: locateIn(path),
      why: describeProblem(found, issue.message, isSensitive),
    })
  }
  return null
}

/** `: perhaps schedules.audit`. What stands before the name, as `schedules.`, is not compared. */
export function suggestNearest(before: string, typed: string, names: readonly string[]): string {
  const lines = names.flatMap((name) => (name.startsWith(before) ? name.slice(before.length) : []))
  const near = nearestNames(typed.slice(before.length), lines)
  return near.length === 0 ? '' : `: perhaps ${near.map((line) => before + line).join(', ')}`
}
