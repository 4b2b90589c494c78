/**
 * The fields of conversations and visitors that write-backs set (`schema/operation-specs.ts`): as the service, the mirror and
 * evidence show them, and as values. Pure.
 */
import { type FieldName, type FieldSpec, type TargetKind, targetFields } from '../../../schema/operation-specs.ts'

/** `handled`: true or false; the others are texts or null. */
export type FieldValue = boolean | string | null
/** One that is not known, or not set, is absent. */
export type FieldValues = { readonly [F in FieldName]?: FieldValue }
/** By the service's names. */
export type ShownFields = { readonly [F in FieldName as (typeof targetFields)[F]['shownAs']]?: string | null }

const specs: Readonly<Record<FieldName, FieldSpec>> = targetFields
export const fieldNames = Object.keys(specs) as readonly FieldName[]
export const shownName = (field: FieldName) => specs[field].shownAs
export const shownNames = fieldNames.map(shownName)
export const nothingShown = Object.fromEntries(shownNames.map((name) => [name, null])) as Required<ShownFields>

export function isFlag(field: FieldName): boolean {
  return specs[field].flagWords !== undefined
}

/** Of a record of the service, which may not show all of them. */
export function toShownFields(record: Readonly<Record<string, unknown>> | null): ShownFields {
  const shown = shownNames.map((name) => [name, record?.[name]] as const)
  return Object.fromEntries(shown.filter(([, value]) => typeof value === 'string' || value === null))
}

export function toFieldValue(field: FieldName, shown: ShownFields | undefined): FieldValue | undefined {
  const values: Readonly<Record<string, string | null>> = { ...shown }
  const value = values[shownName(field)]
  return value === undefined || !isFlag(field) ? value : value !== null
}

export function toFieldValues(target: TargetKind, shown: ShownFields | undefined): FieldValues {
  const own = fieldNames.filter((field) => specs[field].target === target)
  const values = own.map((field) => [field, toFieldValue(field, shown)] as const)
  return Object.fromEntries(values.filter(([, value]) => value !== undefined))
}

/** `handled` · `none` · the text, in quotes unless it is to be as it is. */
export function describeValue(field: FieldName, value: FieldValue, ofText = (text: string) => JSON.stringify(text)) {
  if (value === null) return 'none'
  return typeof value === 'string' ? ofText(value) : (specs[field].flagWords?.[value ? 1 : 0] ?? String(value))
}
