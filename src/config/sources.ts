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

/** `deskmirror.yaml:7 projects.shop.rate`. */
export function locationOf({ yaml }: ConfigSources, path: readonly string[]): string {
  return [yaml?.locate(path) ?? 'deskmirror.yaml', path.map(redactName).join('.')]
    .filter((part) => part !== '')
    .join(' ')
}

/** Turns zod's issues into problems. `locate` returns the location of a setting by its key. */
export function toConfigProblems(
  error: z.ZodError,
  values: RawSettings,
  locate: (key: string) => string,
): ConfigProblem[] {
  return error.issues.flatMap((issue): ConfigProblem[] => {
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({ where: locate(key), why: 'is an unknown setting' }))
    }
    const [key = '', ...deeper] = issue.path.map(String)
    const found = deeper.reduce((value, step) => Object(value)[step], values[key])
    return [{ where: locate(key), why: describeProblem(key, found, issue.message) }]
  })
}

function isRecord(value: unknown): value is RawSettings {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
