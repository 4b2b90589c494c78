/** Rules of `columns` for a field that is not known: most likely it is mistyped. Pure. */

import { nearestNames } from './nearest-names.ts'
import { type ColumnRule, coversPath } from './private-columns.ts'

export type StreamField = { readonly stream: string; readonly path: string }

/** `name`: as `visitors.emial`. `near`: what may be meant, in the same form. */
export type UnseenRule = {
  readonly stream: string
  readonly name: string
  readonly near: readonly string[]
}

export function findUnknownRules(
  rules: readonly ColumnRule[],
  fields: readonly StreamField[],
): readonly UnseenRule[] {
  return rules.flatMap((rule) => {
    const { stream, path } = rule
    const known = fields.filter((field) => isAbout(rule, field.stream)).map((field) => field.path)
    if (known.some((name) => coversPath(path, name))) return []
    const near = nearestNames(path, [...new Set(known)]).map((name) => `${stream}.${name}`)
    return [{ stream, name: `${stream}.${path}`, near }]
  })
}

export const isAbout = (rule: { readonly stream: string }, stream: string) =>
  rule.stream === stream || rule.stream === '*'
