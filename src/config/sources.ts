/** The sources of settings, and how messages name a location in them. */
import { z } from 'zod'
import type { ConfigProblem } from './problems.ts'
import { describeProblem, redactName } from './redaction.ts'
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
export type ConfigResult<T> = { readonly value: T | null; readonly problems: readonly ConfigProblem[] }

export function asRecord(value: unknown): RawSettings | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as RawSettings) : null
}

/** `deskmirror.yaml:7 projects.shop.rate`. */
export function locationOf({ yaml }: ConfigSources, path: readonly string[]): string {
  return [yaml?.locate(path) ?? 'deskmirror.yaml', path.map(redactName).join('.')]
    .filter((part) => part !== '')
    .join(' ')
}

/**
 * Checks all settings together, by their names in the file, and refuses any other name. `locate` returns the location of
 * a setting by its name.
 */
export function checkSettings(
  settings: readonly Setting[],
  values: RawSettings,
  readSecret: ReadSecret,
  locate: (name: string) => string,
): ConfigResult<RawSettings> {
  const schema = z.strictObject(Object.fromEntries(settings.map(({ name, field }) => [name, field(readSecret)])))
  const checked = schema.safeParse(values)
  if (checked.success) return { value: checked.data, problems: [] }
  const problems = checked.error.issues.flatMap((issue): ConfigProblem[] => {
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((name) => ({ where: locate(name), why: 'is an unknown setting' }))
    const [name = '', ...deeper] = issue.path.map(String)
    const found = deeper.reduce((value, step) => Object(value)[step], values[name])
    const isSensitive = settings.some((setting) => setting.name === name && setting.isSensitive)
    return [{ where: locate(name), why: describeProblem(found, issue.message, isSensitive) }]
  })
  return { value: null, problems }
}
