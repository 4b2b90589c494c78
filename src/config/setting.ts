/** What a setting is: its name, its variable and its check. The types of the configuration are derived from tables of them. */
import { z } from 'zod'
import type { ReadSecret } from './secret-fields.ts'

export type Setting<Value = unknown> = {
  /** Its name in the YAML file. */
  readonly name: string
  /** What its variable holds: its value, or a secret. Null: it has no variable. */
  readonly variable: 'value' | 'secret' | null
  readonly field: (read: ReadSecret) => z.ZodType<Value>
}

type Settings = Readonly<Record<string, Setting>>

export type SettingValues<Table extends Settings> = {
  readonly [Key in keyof Table]: Table[Key] extends Setting<infer Value> ? Value : never
}

/** A setting of the file and of a variable. */
export function setting<Value>(name: string, field: z.ZodType<Value>): Setting<Value> {
  return { name, variable: 'value', field: () => field }
}

/** A setting of the file only. */
export function fileSetting<Value>(name: string, field: z.ZodType<Value>): Setting<Value> {
  return { name, variable: null, field: () => field }
}

/** A reference to a secret in the file, or the secret in a variable. */
export function secretSetting<Value>(name: string, field: Setting<Value>['field']): Setting<Value> {
  return { name, variable: 'secret', field }
}

/** Checks all of them together, by their names in the file, and refuses any other name. */
export function schemaOf(settings: readonly Setting[], read: ReadSecret) {
  return z.strictObject(Object.fromEntries(settings.map(({ name, field }) => [name, field(read)])))
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
