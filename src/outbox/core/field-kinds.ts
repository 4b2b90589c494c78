/**
 * The fields of write-backs, and how `writeback add` and CSV give them; and those of conversations
 * and visitors that they set (`schema/operation-specs.ts`). Pure.
 */
import { z } from 'zod'
import {
  type FieldName,
  type FieldSpec,
  maxLengths,
  targetFields,
} from '../../../schema/operation-specs.ts'
import { isHash } from '../../values/private-columns.ts'
import { parseTime, rfc3339 } from '../../values/time.ts'

export type RequestField = {
  readonly schema: z.ZodType
  /** What a cell of CSV holds, see `imports/csv-values.ts`. */
  readonly kind: PayloadField['kind'] | 'key' | 'message' | 'time' | 'word'
}

export type PayloadField = {
  readonly schema: z.ZodType
  /** In CSV, outer spaces belong to a `text`, but not to a `line`, such as a name. */
  readonly kind: 'text' | 'line' | 'id' | 'flag'
  /** Of its option: the name of the value, and the help. */
  readonly value: string
  readonly help: string
  readonly default?: boolean
  /** The help of the option that clears it, if null does. */
  readonly clearHelp?: string
  /** Whether the option's value `-` means standard input. */
  readonly readsStdin?: boolean
}

const uuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i

/** zod passes the input only here and leaves it out of its issues. */
const missingOr = (why: string) => (issue: { readonly input?: unknown }) =>
  issue.input === undefined ? 'is missing' : why

const visible = /[^\s\p{Default_Ignorable_Code_Point}]/u

/** Control characters other than line ends and tabs, and unpaired surrogates. */
const forbiddenCharacters = /[\p{Cc}--[\n\r\t]]|\p{Surrogate}/v
export const forbiddenCharacterMistake = 'contains control characters or unpaired surrogates'

/** The first one by its code, as it cannot be printed: U+000B. */
export function findForbiddenCharacter(text: string): string | null {
  const code = forbiddenCharacters.exec(text)?.[0].charCodeAt(0)
  return code === undefined ? null : `U+${code.toString(16).toUpperCase().padStart(4, '0')}`
}

function text(maxLength: number) {
  return z
    .string({ error: missingOr('must be text') })
    .max(maxLength, `is longer than ${maxLength} characters`)
    .refine((value) => visible.test(value), 'is empty')
    .refine((value) => !forbiddenCharacters.test(value), forbiddenCharacterMistake)
}

/** For names, email addresses and keys. */
export function singleLineText(maxLength: number) {
  return text(maxLength).refine(
    (value) => !/[\n\r\t]/.test(value),
    'must be one line, without tabs',
  )
}

export const idSchema = z.string({ error: missingOr('must be an id') }).regex(uuid, 'is not a UUID')

export const flagSchema = z.boolean({ error: missingOr('must be true or false') })

export const contentField = {
  schema: text(maxLengths.content),
  kind: 'text',
  value: 'text',
  help: 'the text; - reads it from standard input (required)',
  readsStdin: true,
} as const satisfies PayloadField

/** An id in digits, a time, or the message object of the mirror or the service. */
export const expectSchema = nullOr(
  parseExpect,
  'must be the last message that you saw: its id, or its time (RFC 3339)',
)

export const timeSchema = nullOr(parseTimestamp, 'must be a time like 2026-01-31T18:00:00Z')

/** Null or absent, or what `parse` accepts. */
function nullOr(parse: (value: unknown) => string | undefined, why: string) {
  return z
    .unknown()
    .optional()
    .transform((value, context): string | null => {
      const parsed = value == null ? null : parse(value)
      if (parsed !== undefined) return parsed
      context.addIssue({ code: 'custom', message: why })
      return z.NEVER
    })
}

function parseExpect(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'string') {
    return parseTimestamp(value) ?? (isMessageId(String(value)) ? String(BigInt(value)) : undefined)
  }
  if (typeof value !== 'object' || value === null) return undefined
  const fields: Readonly<Record<string, unknown>> = { ...value }
  const reference =
    fields.id ??
    fields.created_at ??
    fields.createdAt ??
    fields.last_message_at ??
    fields.lastMessageAt
  return typeof reference === 'object' ? undefined : parseExpect(reference)
}

/** Limited to what a bigint column can store. */
function isMessageId(digits: string): boolean {
  return /^\d{1,19}$/.test(digits) && BigInt(digits) < 2n ** 63n
}

/** JavaScript parses 30 February as 2 March, and a zone offset can leave the years of RFC 3339. */
function parseTimestamp(value: unknown): string | undefined {
  const at = parseTime(value)
  const day = parseTime(`${String(value).slice(0, 10)}T00:00:00Z`)
  if (at === undefined || day === undefined) return undefined
  const exists = String(value).startsWith(rfc3339(day).slice(0, 10))
  return exists && parseTime(rfc3339(at)) === at ? rfc3339(at) : undefined
}

/** `handled`: true or false; the others are texts or null. */
export type FieldValue = boolean | string | null
/** One that is not known, or not set, is absent. */
export type FieldValues = { readonly [F in FieldName]?: FieldValue }
/** As the service or the mirror shows it; what is not known is absent. Times are RFC 3339. */
export type TargetState = {
  readonly [F in FieldName as (typeof targetFields)[F]['shownAs']]?: string | null
} & {
  readonly lastMessageAt?: string | null
  readonly lastMessageSenderType?: string | null
  /** Ids of all messages of the conversation; absent if not all could be read. */
  readonly ids?: readonly string[]
  /** A digest of their texts. */
  readonly digest?: string
}

export type MirroredMessage = {
  readonly id: string
  readonly at: string | null
  readonly text: string | null
}

export type MirroredTarget = TargetState & {
  readonly syncedAt: string
  readonly isDeleted: boolean
  readonly visitorName: string | null
  /** Fields that the mirror does not store. */
  readonly notStored?: readonly FieldName[]
  /** The last message of the conversation that the team did not write. */
  readonly lastVisitorMessage: MirroredMessage | null
}

const specs: Readonly<Record<FieldName, FieldSpec>> = targetFields
export const fieldNames = Object.keys(specs) as readonly FieldName[]
export const shownName = (field: FieldName) => specs[field].shownAs
export const shownNames = fieldNames.map(shownName)

export function isFlag(field: FieldName): boolean {
  return specs[field].flagWords !== undefined
}

/** Of a record of the service, which may not show all of them. */
export function toShownFields(record: Readonly<Record<string, unknown>> | null): TargetState {
  const shown = shownNames.map((name) => [name, record?.[name]] as const)
  return Object.fromEntries(
    shown.filter(([, value]) => typeof value === 'string' || value === null),
  )
}

export function toFieldValues(shown: TargetState | null | undefined): FieldValues {
  const values = fieldNames.map((field) => {
    const value = shown?.[targetFields[field].shownAs]
    return [field, value === undefined || !isFlag(field) ? value : value !== null] as const
  })
  return Object.fromEntries(values.filter(([, value]) => value !== undefined))
}

/** What the mirror has no value of, or only a hash. */
export const notStored = 'not stored'

/** `handled` · `none` · the text, in quotes unless it is to be as it is. */
export function describeValue(
  field: FieldName,
  value: FieldValue,
  ofText = (text: string) => JSON.stringify(text),
) {
  if (value === notStored || isHash(value)) return notStored
  if (value === null) return 'none'
  return typeof value === 'string'
    ? ofText(value)
    : (specs[field].flagWords?.[value ? 1 : 0] ?? String(value))
}
