/**
 * Columns that are never stored, or only as a hash: the rules of a project, and the one function
 * that applies them. A row of the mirror can only be made of what it returns (`Kept`), so whatever
 * is stored, compared or logged afterwards has neither. Pure.
 */
import { createHmac } from 'node:crypto'
import { normalizeName } from './field-path.ts'
import { asJsonObject, type Json, type JsonObject, stringifyJson, toCanonicalJson } from './json.ts'
import type { Secret } from './secret.ts'

export const columnActions = ['block', 'hash'] as const
export type ColumnAction = (typeof columnActions)[number]

/** `stream`: `*` = every one. `path`: the names of the fields, as a person wrote them. */
export type ColumnRule = {
  readonly stream: string
  readonly path: string
  readonly action: ColumnAction
}

type CompiledRule = ColumnRule & { readonly names: readonly string[] }

declare const kept: unique symbol
/** JSON of the service without what may not be stored. */
export type Kept<Value extends Json = Json> = Value & { readonly [kept]: true }

export type ColumnRules = ReturnType<typeof createColumnRules>

/** In front of each hash, so that it is known for one: 64 hexadecimal digits follow. */
const hashPrefix = 'hmac:'
export const isHash = (value: unknown): value is string =>
  typeof value === 'string' && /^hmac:[\da-f]{64}$/.test(value)

/** `key` null: no rule hashes. */
export function createColumnRules(rules: readonly ColumnRule[], key: Secret | null) {
  const compiled = new Map<string, readonly CompiledRule[]>()
  // The outermost first, so that what is hashed as a whole does not depend on their order.
  const of = (stream: string): readonly CompiledRule[] => {
    const known = compiled.get(stream)
    if (known !== undefined) return known
    const found = rules
      .filter((rule) => rule.stream === stream || rule.stream === '*')
      .map((rule) => ({ ...rule, names: namesOf(rule.path) }))
      .sort((a, b) => a.names.length - b.names.length)
    compiled.set(stream, found)
    return found
  }
  const matched = new Set<string>()
  const digest = (text: string) =>
    createHmac('sha256', key?.reveal() ?? '')
      .update(text)
      .digest('hex')
  const change =
    ({ stream, path, action }: ColumnRule, isStored: boolean) =>
    (value: Json): Json => {
      matched.add(`${stream}.${path}`)
      if (action === 'block' || value === null) return null
      return isStored && isHash(value) ? value : `${hashPrefix}${digest(hashedText(path, value))}`
    }
  const apply = (stream: string, item: Json, isStored: boolean) =>
    of(stream).reduce(
      (value, rule) => changeAt(value, rule.names, change(rule, isStored)),
      item,
    ) as Kept
  return {
    rules,
    /** Those whose fields rows have had, as `visitors.email`. Grows. */
    matched: matched as ReadonlySet<string>,
    /** What may be stored of a row that the service sent. */
    keep: (stream: string, item: Json): Kept => apply(stream, item, false),
    /** The same of one that is stored; its hashes stay as they are. */
    keepStored: (stream: string, item: Json): Kept => apply(stream, item, true),
    /** The texts that may not be stored of a row, as the service sent them. */
    valuesOf: (stream: string, item: Json): readonly PrivateText[] => {
      const found: PrivateText[] = []
      for (const { names, ...rule } of of(stream))
        changeAt(item, names, (value) => {
          for (const text of textsIn(value))
            found.push({ column: `${rule.stream}.${rule.path}`, text })
          return value
        })
      return found
    },
    /** A text as it is stored in a field; null: it is not. */
    storedText: (stream: string, field: string, text: string): string | null => {
      const kept = asJsonObject(apply(stream, { [field]: text }, false))?.[field]
      return typeof kept === 'string' ? kept : null
    },
    /** `block` where several rules are about the field; null: it is stored. */
    actionOf: (stream: string, path: string): ColumnAction | null => {
      const names = namesOf(path)
      const found = of(stream).filter((rule) => covers(rule.names, names))
      return columnActions.find((action) => found.some((rule) => rule.action === action)) ?? null
    },
    /**
     * The rules of a stream as a text that is compared with what was applied last. It has no key,
     * but what tells another one.
     */
    describe: (stream: string): AppliedRules => {
      const own = of(stream).map(({ names, action }) => [names.join('.'), action] as const)
      const hashes = own.some(([, action]) => action === 'hash')
      const sorted = own.toSorted(([a], [b]) => a.localeCompare(b))
      return { columns: sorted, key: hashes ? digest('deskmirror hash_key').slice(0, 16) : null }
    },
  }
}

/** `column`: as the rule names it. */
export type PrivateText = { readonly column: string; readonly text: string }

function textsIn(value: Json): readonly string[] {
  if (value === null || typeof value === 'boolean') return []
  if (typeof value === 'object') return Object.values(value).flatMap(textsIn)
  return [String(value)]
}

export type AppliedRules = {
  readonly columns: readonly (readonly [path: string, action: ColumnAction])[]
  /** A fingerprint of the key; null: nothing is hashed. */
  readonly key: string | null
}

export const noColumnRules = createColumnRules([], null)

/** `custom_fields.phone` and `customFields.Phone` are the same; a name may have dots of its own. */
function namesOf(path: string): readonly string[] {
  return normalizeName(path.replaceAll('\\.', '.')).split('.')
}

/** Whether a rule for the first path is about the field of the second. */
export const coversPath = (rule: string, path: string) => covers(namesOf(rule), namesOf(path))

function covers(rule: readonly string[], path: readonly string[]): boolean {
  return rule.every((name, n) => path[n] === name)
}

/** Also in each element of a list. What has no such field is returned as it is. */
function changeAt(value: Json, names: readonly string[], change: (value: Json) => Json): Json {
  if (names.length === 0) return change(value)
  if (Array.isArray(value)) return value.map((element: Json) => changeAt(element, names, change))
  const fields = asJsonObject(value)
  if (fields === null) return value
  let changed: [string, Json][] | null = null
  for (const field of Object.keys(fields)) {
    const own = normalizeName(field).split('.')
    if (!covers(own, names)) continue
    changed ??= Object.entries(fields)
    const inner = changeAt(fields[field] as Json, names.slice(own.length), change)
    changed = changed.map((entry) => (entry[0] === field ? [field, inner] : entry))
  }
  // Not by assignment: a field may be called `__proto__`.
  return changed === null ? value : (Object.fromEntries(changed) as JsonObject)
}

const addressPattern = /^[^\s@]+@[^\s@]+$/

/** What is hashed of a value. An address in whatever letters is the same address. */
function hashedText(path: string, value: Exclude<Json, null>): string {
  if (typeof value === 'object') return toCanonicalJson(stringifyJson(value))
  const text = typeof value === 'string' ? value : stringifyJson(value)
  const isAddress = /mail/.test(namesOf(path).at(-1) ?? '') || addressPattern.test(text.trim())
  return isAddress ? text.trim().toLowerCase() : text
}
