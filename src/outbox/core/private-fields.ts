/**
 * What a correction may keep of fields that the mirror does not store: nothing of what was there
 * before, and for comparisons what the mirror has, a hash or nothing. Pure.
 */

import type { Json } from '../../values/json.ts'
import { type ColumnRules, isHash } from '../../values/private-columns.ts'
import { type FieldValues, fieldNames, shownName, type TargetState } from './field-kinds.ts'

const actionOf = (columns: ColumnRules, name: string) => columns.actionOf('visitors', name)

export const hasPrivateFields = (columns: ColumnRules): boolean =>
  fieldNames.some((field) => actionOf(columns, shownName(field)) !== null)

/** What may be stored of what the service shows. */
export function withoutPrivate<Shown extends TargetState>(
  columns: ColumnRules,
  shown: Shown,
): Shown {
  const stored = Object.entries(shown).filter(([name]) => actionOf(columns, name) === null)
  return Object.fromEntries(stored) as Shown
}

/** As the mirror has them. One that it does not store is absent, as if it were not known. */
export function asMirrored<Values extends FieldValues | TargetState>(
  columns: ColumnRules,
  values: Values,
): Values {
  const entries = Object.entries(values).flatMap(([name, value]) => {
    const action = actionOf(columns, name)
    if (action === null || value === undefined) return [[name, value]]
    if (action === 'block') return []
    const kept = columns.keepStored('visitors', { [name]: value })
    return [[name, Object(kept)[name]]]
  })
  return Object.fromEntries(entries) as Values
}

/** Texts of a body, which the service may repeat in an error. */
export function privateTexts(columns: ColumnRules, body: Json): readonly string[] {
  return Object.entries(Object(body)).flatMap(([name, value]) =>
    actionOf(columns, name) !== null && typeof value === 'string' && value !== '' ? [value] : [],
  )
}

/** Null: no hash would be sent in place of a text. */
export function findHash(body: Json): string | null {
  const found = Object.entries(Object(body)).find(([, value]) => isHash(value))
  return found === undefined ? null : `its ${found[0]} is a hash of a text that is not stored`
}
