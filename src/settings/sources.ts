/** Where settings come from, and how a place in them is named to a person. */
import type { z } from 'zod'
import type { Mistake } from './mistakes.ts'
import type { ReadSecret } from './secret-fields.ts'
import { sentence, shownName } from './shown.ts'
import type { Variables } from './variables.ts'
import type { YamlFile } from './yaml-file.ts'

/**
 * What the command needs: the service (everything must be there), the mirror (a project, but no key), or the database
 * alone (projects that are not described completely are left out).
 */
export type Needs = 'service' | 'mirror' | 'database'

export type Sources = {
  readonly variables: Variables
  readonly yaml: YamlFile | null
  readonly readSecret: ReadSecret
  readonly needs: Needs
}

export type Settings = Readonly<Record<string, unknown>>
export type Part<T> = { readonly value: T | null; readonly mistakes: readonly Mistake[] }

export function record(value: unknown): Settings | null {
  return isRecord(value) ? value : null
}

/** `deskmirror.yaml:7 projects.shop.rate`. */
export function placeIn({ yaml }: Sources, path: readonly string[]): string {
  return [yaml?.at(path) ?? 'deskmirror.yaml', path.map(shownName).join('.')].filter((part) => part !== '').join(' ')
}

/** What zod found wrong, as mistakes. `where` names the place of a setting by its key. */
export function mistakesOf(error: z.ZodError, values: Settings, where: (key: string) => string): Mistake[] {
  return error.issues.flatMap((issue): Mistake[] => {
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({ where: where(key), why: 'is no setting that deskmirror knows' }))
    }
    const [key = '', ...deeper] = issue.path.map(String)
    const found = deeper.reduce((value, step) => Object(value)[step], values[key])
    return [{ where: where(key), why: sentence(key, found, issue.message) }]
  })
}

function isRecord(value: unknown): value is Settings {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
