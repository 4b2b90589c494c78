/** The sources of settings, and how messages name a location in them. */
import { z } from 'zod'
import { type ConfigProblem, describeProblem, maxProblems, redactName } from './problems.ts'
import type { ReadSecret } from './secret-fields.ts'
import type { Setting, Variables } from './setting.ts'
import type { YamlFile } from './yaml-file.ts'

/**
 * What the command needs: the service (everything must be set), the mirror (a project, but no key), or only the
 * database (incomplete projects are left out).
 */
export type ConfigNeeds = 'service' | 'mirror' | 'database'

export type ConfigSources = {
  readonly variables: Variables
  readonly yaml: YamlFile | null
  readonly readSecret: ReadSecret
  readonly needs: ConfigNeeds
}

export type RawSettings = Readonly<Record<string, unknown>>

export function asRecord(value: unknown): RawSettings | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as RawSettings) : null
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

/** Checks all settings together, by their names in the file, and refuses any other name. Null: it has added problems. */
export function checkSettings(
  settings: readonly Setting[],
  values: RawSettings,
  readSecret: ReadSecret,
  locate: LocateSetting,
  problems: ConfigProblem[],
): RawSettings | null {
  const schema = z.strictObject(Object.fromEntries(settings.map(({ name, field }) => [name, field(readSecret)])))
  const checked = schema.safeParse(values)
  if (checked.success) return checked.data
  const locateIn = ([name = '', ...within]: SettingPath) => locate(String(name), within)
  for (const issue of checked.error.issues.slice(0, maxProblems + 1)) {
    const path = issue.path.map((part) => (typeof part === 'number' ? part : String(part)))
    if (issue.code === 'unrecognized_keys') {
      for (const name of issue.keys.slice(0, maxProblems + 1))
        problems.push({ where: locateIn([...path, name]), why: 'is an unknown setting' })
      continue
    }
    const found = path.reduce((value: unknown, step) => Object(value)[step], values)
    const isSensitive = settings.some((setting) => setting.name === path[0] && setting.isSensitive)
    problems.push({ where: locateIn(path), why: describeProblem(found, issue.message, isSensitive) })
  }
  return null
}
