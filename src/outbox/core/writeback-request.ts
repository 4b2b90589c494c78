/** A request for an operation before it is queued, parsed and validated, or its mistakes. Pure. */
import { z } from 'zod'
import { type EpochMs, parseTime } from '../../values/time.ts'
import { type CommonValues, commonFields, toCommonValues } from './common-fields.ts'
import {
  type FieldValues,
  findForbiddenCharacter,
  forbiddenCharacterMistake,
  idSchema,
  type RequestField,
} from './field-kinds.ts'
import { type Operation, operations, operationTypes, type WritebackPayload } from './operations.ts'

export type WritebackRequest<O extends Operation = Operation> = {
  readonly [P in O]: CommonValues & {
    readonly operation: P
    /** The id of the conversation or the visitor. */
    readonly target: string
    readonly payload: WritebackPayload[P]
    /** Of the file that it comes from. */
    readonly sourceRow?: number
    /** The words by which an import found its conversation. */
    readonly foundBy?: string
  }
}[O]

/** What its target has once it is done. */
export function effectOf({
  operation,
  payload,
}: {
  operation: Operation
  payload: object
}): FieldValues {
  const { sets, alsoSets } = operationTypes[operation]
  return {
    ...alsoSets,
    ...Object.fromEntries(
      Object.entries(payload).filter(([name]) => sets.some((set) => set === name)),
    ),
  }
}

/** Without the answer that a visitor waits for, it would hide that. */
export function marksHandled(request: Pick<WritebackRequest, 'operation' | 'payload'>): boolean {
  return effectOf(request).handled === true
}

export type RequestParseResult =
  | { readonly ok: true; readonly request: WritebackRequest }
  | {
      readonly ok: false
      readonly request?: undefined
      readonly mistakes: readonly RequestMistake[]
    }

const requestSchemas = new Map<unknown, ReturnType<typeof toSchema>>(
  operations.map((operation) => [operation, toSchema(operation)]),
)

function toSchema(operation: Operation) {
  const { target, fields } = operationTypes[operation]
  const others = Object.entries<RequestField>({ ...fields, ...commonFields }).map(
    ([name, { schema }]) => [name, schema],
  )
  const schemas: Readonly<Record<string, z.ZodType>> = Object.fromEntries(others)
  return z.strictObject({ operation: z.literal(operation), [`${target}_id`]: idSchema, ...schemas })
}

/** Parses an import line, or a row of the outbox in the same form. */
export function parseRequest(line: unknown): RequestParseResult {
  if (typeof line !== 'object' || line === null || Array.isArray(line))
    return invalidRequest(toMistake(null, 'must be a JSON object', line))
  const fields: Readonly<Record<string, unknown>> = { ...line }
  const schema = requestSchemas.get(fields.operation)
  if (schema === undefined)
    return invalidRequest(
      toMistake('operation', `must be one of ${operations.join(', ')}`, fields.operation),
    )
  const result = schema.safeParse(line)
  if (result.success) return toRequest(result.data)
  const mistakes = result.error.issues.flatMap((issue) => toMistakes(issue, fields))
  // Several rules of a field may give the same reason.
  return invalidRequest(
    ...new Map(mistakes.map((mistake) => [mistakeText(mistake), mistake])).values(),
  )
}

export function isTargetId(text: unknown): boolean {
  return idSchema.safeParse(text).success
}

/** In CSV, such a column may be left out. */
export const foreignFieldMistake = 'is not a field of this operation'

export function hasExpired(expiresAt: string | null, now: EpochMs): boolean {
  return (parseTime(expiresAt) ?? Number.POSITIVE_INFINITY) * 1000 <= now
}

export const describeExpiry = (expiresAt: string | null) => `expired at ${expiresAt}`

/** Why it would expire immediately if it were queued now. */
export function expiryMistakes(
  { expiresAt }: WritebackRequest,
  now: EpochMs,
): readonly RequestMistake[] {
  if (!hasExpired(expiresAt, now)) return []
  return [toMistake('expires_at', 'has passed; leave it out, or give a future time', expiresAt)]
}

/** The casts are safe, as the operation's own schema has parsed the line. */
function toRequest(line: z.infer<ReturnType<typeof toSchema>>): RequestParseResult {
  const operation = line.operation as Operation
  const { target, fields } = operationTypes[operation]
  const names = Object.keys(fields)
  const given = names.filter((name) => line[name] !== undefined)
  if (given.length === 0 && names.length > 0)
    return invalidRequest(toMistake(names.join(', '), 'at least one must be given'))
  const payload = Object.fromEntries(given.map((name) => [name, line[name]]))
  // Rows of one target have one form; queueing finds the letters in which the service shows it.
  const id = String(line[`${target}_id`]).toLowerCase()
  const request = { operation, target: id, payload, ...toCommonValues(line) } as WritebackRequest
  return { ok: true, request }
}

function toMistakes(
  issue: z.core.$ZodIssue,
  line: Readonly<Record<string, unknown>>,
): RequestMistake[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => toMistake(key, foreignFieldMistake, line[key]))
  const field = issue.path.join('.')
  const value = line[String(issue.path[0])]
  const isForbidden = issue.message === forbiddenCharacterMistake && typeof value === 'string'
  return [toMistake(field, issue.message, isForbidden ? findForbiddenCharacter(value) : value)]
}

function invalidRequest(...mistakes: RequestMistake[]): RequestParseResult {
  return { ok: false, mistakes }
}

/** Options of an import that let such rows through: a person who knows better may use them. */
export type ImportOverride = 'ignore-columns' | 'allow-duplicates' | 'encoding'

export type RequestMistake = {
  /** The field's or the column's name; null if it concerns the whole line. */
  readonly field: string | null
  /** The same text for every value, so that equal mistakes can be counted. */
  readonly why: string
  /** For a person, shortened; null if there is none or it says nothing. */
  readonly found: string | null
  readonly override: ImportOverride | null
  /** What could be meant in this row, to choose from. */
  readonly candidates?: string
}

const maxFoundLength = 60

export function toMistake(
  field: string | null,
  why: string,
  found?: unknown,
  override: ImportOverride | null = null,
): RequestMistake {
  return { field, why, found: describeFound(found), override }
}

export function describeMistakes(mistakes: readonly RequestMistake[]): string {
  return mistakes.map(mistakeText).join('; ')
}

/** Without the value. */
export function mistakeText({ field, why }: Pick<RequestMistake, 'field' | 'why'>): string {
  return field === null ? why : `${field}: ${why}`
}

function describeFound(value: unknown): string | null {
  if (value == null) return null
  const text =
    typeof value === 'string' ? value : typeof value === 'object' ? toJson(value) : String(value)
  if (text.trim() === '') return null
  const characters = [...text.slice(0, 2 * maxFoundLength)]
  return characters.length > maxFoundLength
    ? `${characters.slice(0, maxFoundLength).join('')}…`
    : text
}

function toJson(value: object): string {
  try {
    return JSON.stringify(value, (_, member) =>
      typeof member === 'bigint' ? String(member) : member,
    )
  } catch {
    // It is nested hundreds of thousands of times.
    return Array.isArray(value) ? '[…]' : '{…}'
  }
}
