/** The sources of settings, and how messages name a location in them. */
import type { z } from 'zod'
import type { ConfigProblem } from './problems.ts'
import { describeProblem, redactName } from './redaction.ts'
import type { ReadSecret } from './secret-fields.ts'
import type { Variables } from './variable-names.ts'
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
export type ConfigResult<T> = { readonly value: T | null; readonly problems: readonly ConfigProblem[] }

export function asRecord(value: unknown): RawSettings | null {
  return isRecord(value) ? value : null
}

/** Names of settings, and positions in lists. */
export type SettingPath = readonly (string | number)[]

/** `deskmirror.yaml:7 projects.shop.rate`. The line shows the position in a list. */
export function locationOf({ yaml }: ConfigSources, path: SettingPath): string {
  const names = path.filter((part) => typeof part === 'string')
  return [yaml?.locate(path) ?? 'deskmirror.yaml', names.map(redactName).join('.')]
    .filter((part) => part !== '')
    .join(' ')
}

/** Returns the location of a setting by its key, or of a line within its value. */
export type LocateSetting = (key: string, within?: SettingPath) => string

/** Turns zod's issues into problems. */
export function toConfigProblems(error: z.ZodError, values: RawSettings, locate: LocateSetting): ConfigProblem[] {
  return error.issues.flatMap((issue): ConfigProblem[] => {
    const locateIn = ([key = '', ...within]: SettingPath) => locate(String(key), within)
    const path = issue.path.map((part) => (typeof part === 'number' ? part : String(part)))
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({ where: locateIn([...path, key]), why: 'is an unknown setting' }))
    }
    const found = path.reduce((value: unknown, step) => Object(value)[step], values)
    return [{ where: locateIn(path), why: describeProblem(String(path[0] ?? ''), found, issue.message) }]
  })
}

function isRecord(value: unknown): value is RawSettings {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
