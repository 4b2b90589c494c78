/** What a setting is: its name, its variable and its check. The types of the configuration are derived from tables of them. */
import type { z } from 'zod'
import type { ReadSecret } from './secret-fields.ts'

export type Setting<Value = unknown> = {
  /** Its name in the YAML file. */
  readonly name: string
  /** For docs/reference/settings.md. */
  readonly about: string
  /** What its variable holds: its value, or a secret. Null: it has no variable. */
  readonly variable: 'value' | 'secret' | null
  /** It is a secret, or an address that may hold one: it is never printed, and redacted from all output. */
  readonly isSensitive: boolean
  readonly field: (read: ReadSecret) => z.ZodType<Value>
}

export type Settings = Readonly<Record<string, Setting>>

export type SettingValues<Table extends Settings> = {
  readonly [Key in keyof Table]: Table[Key] extends Setting<infer Value> ? Value : never
}

/** A setting of the file and of a variable. */
export function setting<Value>(name: string, field: z.ZodType<Value>, about: string): Setting<Value> {
  return { name, about, variable: 'value', isSensitive: false, field: () => field }
}

/** An address, which may contain a password that no pattern finds. */
export function addressSetting<Value>(name: string, field: z.ZodType<Value>, about: string): Setting<Value> {
  return { ...setting(name, field, about), isSensitive: true }
}

/** A setting of the file only. */
export function fileSetting<Value>(name: string, field: z.ZodType<Value>, about: string): Setting<Value> {
  return { name, about, variable: null, isSensitive: false, field: () => field }
}

/** A reference to a secret in the file, or the secret in a variable. */
export function secretSetting<Value>(name: string, field: Setting<Value>['field'], about: string): Setting<Value> {
  return { name, about, variable: 'secret', isSensitive: true, field }
}

/** The checked values of a table. */
export function valuesOf<Table extends Settings>(
  table: Table,
  checked: Readonly<Record<string, unknown>>,
): SettingValues<Table> {
  const values = Object.entries(table).map(([key, { name }]) => [key, checked[name]])
  return Object.fromEntries(values) as SettingValues<Table>
}

/** The defaults of a table, except for the keys of `own`. Throws if another setting has none. */
export function defaultsOf<Table extends Settings>(table: Table, own: object): SettingValues<Table> {
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
): Record<string, unknown> {
  const given = settings
    .filter(({ name, variable }) => variable === kind && variables[variableName(name)] !== undefined)
    .map(({ name }) => [name, kind === 'value' ? variables[variableName(name)] : { env: variableName(name) }])
  return Object.fromEntries(given)
}
