/**
 * The operations: one record each, which constraints, commands, CSV columns, reviews, estimates and reverts follow; its handler
 * is in `operations/handlers.ts`. And a request for one before it is queued: its target and its payload, parsed and validated.
 * Pure.
 */
import { z } from 'zod'
import type { operationColumns } from '../../../schema/outbox-tables.ts'
import { type EpochMs, parseTime } from '../../values/time.ts'
import {
  commonFields,
  contentField,
  findForbiddenCharacter,
  flagSchema,
  forbiddenCharacterMistake,
  idSchema,
  maxLengths,
  type PayloadField,
  singleLineText,
} from './request-fields.ts'
import { mistakeText, type RequestMistake, toMistake } from './request-mistake.ts'

export const targetKinds = ['conversation', 'visitor'] as const
export type TargetKind = (typeof targetKinds)[number]

/** What a person calls what a write-back does: in a column, of one and of several. */
export const reviewActions = {
  reply: ['reply', 'reply', 'replies'],
  mark_handled: ['mark handled', 'conversation to mark handled', 'conversations to mark handled'],
  reopen: ['reopen', 'conversation to reopen', 'conversations to reopen'],
  correct_visitor: ['correct visitor', 'visitor to correct', 'visitors to correct'],
  add_note: ['note', 'note', 'notes'],
} as const
export type ReviewAction = keyof typeof reviewActions

/** The fields of a target that write-backs change. */
export type FieldName = 'handled' | 'name' | 'email'
/** An absent one is not changed. */
export type FieldValues = {
  readonly handled?: boolean
  readonly name?: string | null
  readonly email?: string | null
}

/** The target's fields whose values before a send are stored as evidence: text or null. */
export const evidenceFields = ['handledAt', 'name', 'email'] as const

export type OperationType = {
  readonly target: TargetKind
  /** Whether sending it twice has the same effect as once. */
  readonly isIdempotent: boolean
  /** Null: it can be taken back. */
  readonly notRevertible: string | null
  /** Whether a customer reads it. */
  readonly isPublic: boolean
  /** On pages. */
  readonly words: readonly [one: string, many: string]
  /** `unless`: given in a payload, it makes another action of it. */
  readonly action: ReviewAction
  readonly unless?: { readonly field: FieldName; readonly is: boolean; readonly action: ReviewAction }
  /** The fields of its target that its payload sets, as a review names them; none: it adds something instead. */
  readonly sets: readonly FieldName[]
  /** What it changes beside them. */
  readonly alsoSets?: FieldValues
  /** Of the precondition, and of what is stored afterwards. Measured against the sandbox, without verifications. */
  readonly readsPerSend: number
  /** The payload, in the order of the CSV columns. If all fields are optional, at least one must be given. */
  readonly fields: Readonly<Record<string, PayloadField>>
  readonly summary: string
  /** Arguments of `writeback add`, after the operation. */
  readonly examples: readonly string[]
}

const described = {
  message: {
    target: 'conversation',
    isIdempotent: false,
    notRevertible: 'a reply cannot be taken back',
    isPublic: true,
    words: ['reply', 'replies'],
    action: 'reply',
    sets: [],
    // It reopens its conversation.
    alsoSets: { handled: false },
    readsPerSend: 3,
    fields: {
      content: contentField,
      sender_name: {
        schema: singleLineText(maxLengths.name),
        kind: 'line',
        value: 'name',
        help: 'the name that the visitor sees (required)',
      },
    },
    summary: 'a reply to the visitor of a conversation; it reopens the conversation',
    examples: [
      '--conversation ID --sender-name Ann --content "We have found it."',
      '--conversation ID --sender-name Ann --content - < reply.txt',
    ],
  },
  handled: {
    target: 'conversation',
    isIdempotent: true,
    notRevertible: null,
    isPublic: false,
    words: ['flag', 'flags'],
    action: 'mark_handled',
    unless: { field: 'handled', is: false, action: 'reopen' },
    sets: ['handled'],
    readsPerSend: 3,
    fields: {
      handled: { schema: flagSchema, kind: 'flag', value: 'true|false', help: 'false reopens it', default: true },
    },
    summary: 'mark a conversation handled, or reopen it',
    examples: [
      '--conversation ID                     marks it handled',
      '--conversation ID --handled false     reopens it',
    ],
  },
  visitor: {
    target: 'visitor',
    isIdempotent: true,
    notRevertible: null,
    isPublic: false,
    words: ['correction of a visitor', 'corrections of visitors'],
    action: 'correct_visitor',
    sets: ['name', 'email'],
    readsPerSend: 2,
    fields: {
      name: {
        schema: singleLineText(maxLengths.name).nullable().exactOptional(),
        kind: 'line',
        value: 'name',
        help: 'the new name',
        clearHelp: 'remove the name',
      },
      email: {
        schema: singleLineText(maxLengths.email).nullable().exactOptional(),
        kind: 'line',
        value: 'email',
        help: 'the new email address',
        clearHelp: 'remove the email address',
      },
    },
    summary: 'correct the name of a visitor, the email, or both; an omitted field stays unchanged',
    examples: ['--visitor ID --name "Ada Lovelace" --clear-email'],
  },
  note: {
    target: 'visitor',
    isIdempotent: false,
    notRevertible: 'a note cannot be taken back',
    isPublic: false,
    words: ['note', 'notes'],
    action: 'add_note',
    sets: [],
    readsPerSend: 0,
    fields: { content: contentField },
    summary: 'an internal note about a visitor',
    examples: ['--visitor ID --content "Asked for an invoice."'],
  },
} as const satisfies {
  readonly [O in keyof typeof operationColumns]: OperationType & {
    readonly target: (typeof operationColumns)[O]['target']
    readonly fields: Readonly<Record<(typeof operationColumns)[O]['payload'][number], PayloadField>>
  }
}

export type Operation = keyof typeof described
export const operationTypes: Readonly<Record<Operation, OperationType>> = described
export const operations = Object.keys(described) as readonly Operation[]

export function isOperation(value: unknown): value is Operation {
  return operations.some((operation) => operation === value)
}

export function operationsWhere(condition: (type: OperationType) => boolean): readonly Operation[] {
  return operations.filter((operation) => condition(operationTypes[operation]))
}

/** In the order of help texts: by target, and what adds something before what changes it. */
export const operationsInHelp = targetKinds.flatMap((kind) => [
  ...operationsWhere(({ target, isIdempotent }) => target === kind && !isIdempotent),
  ...operationsWhere(({ target, isIdempotent }) => target === kind && isIdempotent),
])

/** What its target has once it is done. */
export function effectOf({ operation, payload }: Pick<WritebackRequest, 'operation' | 'payload'>): FieldValues {
  const { sets, alsoSets } = operationTypes[operation]
  return {
    ...alsoSets,
    ...Object.fromEntries(Object.entries(payload).filter(([name]) => sets.some((set) => set === name))),
  }
}

/** The name of the target's lane. Write-backs of one lane are sent in order. */
export function toLaneName(kind: TargetKind, id: string): string {
  return `${kind}/${id.toLowerCase()}`
}

type SchemasOf<Fields> = {
  -readonly [F in keyof Fields]: Fields[F] extends { readonly schema: infer S extends z.ZodType } ? S : never
}

/** The column `payload`. In `visitor`, an absent field stays unchanged and null clears it. */
export type WritebackPayload = {
  readonly [O in Operation]: Readonly<z.infer<z.ZodObject<SchemasOf<(typeof described)[O]['fields']>>>>
}

export type RequestFor<O extends Operation> = {
  readonly operation: O
  /** The id of the conversation or the visitor. */
  readonly target: string
  readonly payload: WritebackPayload[O]
  /** The caller's idempotency key: the same one is never queued twice. */
  readonly ref: string | null
  /** The last message that the person saw: its id in digits, or its time in RFC 3339. */
  readonly expect: string | null
  /** Not sent after this time; RFC 3339. */
  readonly expiresAt: string | null
}

export type WritebackRequest = { [O in Operation]: RequestFor<O> }[Operation]

export type RequestParseResult =
  | { readonly ok: true; readonly request: WritebackRequest }
  | { readonly ok: false; readonly mistakes: readonly RequestMistake[] }

const requestSchemas = new Map<unknown, ReturnType<typeof toSchema>>(
  operations.map((operation) => [operation, toSchema(operation)]),
)

function toSchema(operation: Operation) {
  const { target, fields } = operationTypes[operation]
  const payload = Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema]))
  return z.strictObject({ operation: z.literal(operation), [`${target}_id`]: idSchema, ...payload, ...commonFields })
}

/** Parses an import line, or a row of the outbox in the same form. */
export function parseRequest(line: unknown): RequestParseResult {
  if (typeof line !== 'object' || line === null || Array.isArray(line))
    return invalidRequest(toMistake(null, 'must be a JSON object', line))
  const fields: Readonly<Record<string, unknown>> = { ...line }
  const schema = requestSchemas.get(fields.operation)
  if (schema === undefined)
    return invalidRequest(toMistake('operation', `must be one of ${operations.join(', ')}`, fields.operation))
  const result = schema.safeParse(line)
  if (result.success) return toRequest(result.data)
  const mistakes = result.error.issues.flatMap((issue) => toMistakes(issue, fields))
  // Several rules of a field may give the same reason.
  return invalidRequest(...new Map(mistakes.map((mistake) => [mistakeText(mistake), mistake])).values())
}

/** In CSV, such a column may be left out. */
export const foreignFieldMistake = 'is not a field of this operation'

export function hasExpired(expiresAt: string | null, now: EpochMs): boolean {
  return (parseTime(expiresAt) ?? Number.POSITIVE_INFINITY) * 1000 <= now
}

/** Why it would expire immediately if it were queued now. */
export function expiryMistakes({ expiresAt }: WritebackRequest, now: EpochMs): readonly RequestMistake[] {
  if (!hasExpired(expiresAt, now)) return []
  return [toMistake('expires_at', 'has passed; leave it out, or give a future time', expiresAt)]
}

/** The cast is safe, as the operation's own schema has parsed the line. */
function toRequest(line: z.infer<ReturnType<typeof toSchema>> & Readonly<Record<string, unknown>>): RequestParseResult {
  const { operation, ref = null, expect, expires_at: expiresAt } = line
  const { target, fields } = operationTypes[operation]
  const names = Object.keys(fields)
  const given = names.filter((name) => line[name] !== undefined)
  if (given.length === 0 && names.length > 0)
    return invalidRequest(toMistake(names.join(', '), 'at least one must be given'))
  const payload = Object.fromEntries(given.map((name) => [name, line[name]]))
  // Rows of one target have one form; queueing finds the letters in which the service shows it.
  const id = String(line[`${target}_id`]).toLowerCase()
  const request = { operation, target: id, payload, ref, expect, expiresAt } as WritebackRequest
  return { ok: true, request }
}

function toMistakes(issue: z.core.$ZodIssue, line: Readonly<Record<string, unknown>>): RequestMistake[] {
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => toMistake(key, foreignFieldMistake, line[key]))
  const field = issue.path.join('.')
  const value = line[String(issue.path[0])]
  const isForbidden = issue.message === forbiddenCharacterMistake && typeof value === 'string'
  return [toMistake(field, issue.message, isForbidden ? findForbiddenCharacter(value) : value)]
}

function invalidRequest(...mistakes: RequestMistake[]): RequestParseResult {
  return { ok: false, mistakes }
}
