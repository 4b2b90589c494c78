/** A write-back request before it is queued: an operation, its target and its payload, parsed and validated. Pure. */
import { z } from 'zod'
import { type EpochMs, parseTime, rfc3339 } from '../time.ts'

export const operations = ['message', 'handled', 'visitor', 'note'] as const
export type Operation = (typeof operations)[number]

/** The kind of target of each operation. */
export const targetKind = {
  message: 'conversation',
  handled: 'conversation',
  visitor: 'visitor',
  note: 'visitor',
} as const satisfies Record<Operation, 'conversation' | 'visitor'>

/** The name of the target's lane. Write-backs of one lane are sent in order. */
export function toLaneName(kind: 'conversation' | 'visitor', id: string): string {
  return `${kind}/${id.toLowerCase()}`
}

/** The column `payload`. In `visitor`, an absent field stays unchanged and null clears it. */
export type WritebackPayload = {
  readonly message: { readonly content: string; readonly sender_name: string }
  readonly handled: { readonly handled: boolean }
  readonly visitor: { readonly name?: string | null; readonly email?: string | null }
  readonly note: { readonly content: string }
}

export type WritebackRequest = {
  [O in Operation]: {
    readonly operation: O
    /** A conversation's id for `message` and `handled`, a visitor's for the others. */
    readonly target: string
    readonly payload: WritebackPayload[O]
    /** The caller's idempotency key: the same one is never queued twice. */
    readonly ref: string | null
    /** The last message that the person saw: its id in digits, or its time in RFC 3339. */
    readonly expect: string | null
    /** Not sent after this time; RFC 3339. */
    readonly expiresAt: string | null
  }
}[Operation]

/** `why`: one reason per mistake, each starting with the field name. */
export type RequestParseResult =
  | { readonly ok: true; readonly request: WritebackRequest }
  | { readonly ok: false; readonly why: readonly string[] }

/** In characters. The service's own limits are not documented. */
export const maxLengths = { content: 20_000, name: 300, email: 320, ref: 200 } as const

const uuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i

/** zod passes the input only here and leaves it out of its issues. */
const missingOr = (why: string) => (issue: { readonly input?: unknown }) =>
  issue.input === undefined ? 'is missing' : why

/** Control characters other than line ends and tabs, and unpaired surrogates. */
const forbiddenCharacters = /[\p{Cc}--[\n\r\t]]|\p{Surrogate}/v

/** For names, email addresses and keys. */
function singleLineText(maxLength: number) {
  return text(maxLength).refine((value) => !/[\n\r\t]/.test(value), 'must be one line, without tabs')
}

function text(maxLength: number) {
  return z
    .string({ error: missingOr('must be text') })
    .max(maxLength, `is longer than ${maxLength} characters`)
    .refine((value) => value.trim() !== '', 'is empty')
    .refine((value) => !forbiddenCharacters.test(value), 'contains control characters or unpaired surrogates')
}

const idSchema = z.string({ error: missingOr('must be an id') }).regex(uuid, 'is not a UUID')

/** An id in digits, a time, or the message object of the mirror or the service. */
const expectSchema = z
  .unknown()
  .optional()
  .transform((value, context): string | null => {
    const found = value == null ? null : parseExpect(value)
    if (found !== undefined) return found
    context.addIssue({
      code: 'custom',
      message: 'must be the last message that you saw: its id, or its time (RFC 3339)',
    })
    return z.NEVER
  })

function parseExpect(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'string') {
    return parseTimestamp(value) ?? (isMessageId(String(value)) ? String(BigInt(value)) : undefined)
  }
  if (typeof value !== 'object' || value === null) return undefined
  const fields: Readonly<Record<string, unknown>> = { ...value }
  const reference = fields.id ?? fields.created_at ?? fields.createdAt ?? fields.last_message_at ?? fields.lastMessageAt
  return typeof reference === 'object' ? undefined : parseExpect(reference)
}

/** Limited to what a bigint column can store. */
function isMessageId(digits: string): boolean {
  return /^\d{1,19}$/.test(digits) && BigInt(digits) < 2n ** 63n
}

const expiresAtSchema = z
  .unknown()
  .optional()
  .transform((value, context): string | null => {
    const at = value == null ? null : parseTimestamp(value)
    if (at !== undefined) return at
    context.addIssue({ code: 'custom', message: 'must be a time like 2026-01-31T18:00:00Z' })
    return z.NEVER
  })

/** JavaScript parses 30 February as 2 March, and a zone offset can move a time out of the years of RFC 3339. */
function parseTimestamp(value: unknown): string | undefined {
  const at = parseTime(value)
  const day = parseTime(`${String(value).slice(0, 10)}T00:00:00Z`)
  if (at === undefined || day === undefined) return undefined
  const exists = String(value).startsWith(rfc3339(day).slice(0, 10))
  return exists && parseTime(rfc3339(at)) === at ? rfc3339(at) : undefined
}

const commonFields = {
  ref: singleLineText(maxLengths.ref).nullish(),
  expect: expectSchema,
  expires_at: expiresAtSchema,
}
const contentSchema = text(maxLengths.content)

const requestSchemas = {
  message: z.strictObject({
    operation: z.literal('message'),
    conversation_id: idSchema,
    content: contentSchema,
    sender_name: singleLineText(maxLengths.name),
    ...commonFields,
  }),
  handled: z.strictObject({
    operation: z.literal('handled'),
    conversation_id: idSchema,
    handled: z.boolean({ error: missingOr('must be true or false') }),
    ...commonFields,
  }),
  visitor: z.strictObject({
    operation: z.literal('visitor'),
    visitor_id: idSchema,
    name: singleLineText(maxLengths.name).nullable().optional(),
    email: singleLineText(maxLengths.email).nullable().optional(),
    ...commonFields,
  }),
  note: z.strictObject({ operation: z.literal('note'), visitor_id: idSchema, content: contentSchema, ...commonFields }),
} as const

/** Parses an import line, or a row of the outbox in the same form. */
export function parseRequest(line: unknown): RequestParseResult {
  if (typeof line !== 'object' || line === null || Array.isArray(line)) return invalidRequest('must be a JSON object')
  const operation = 'operation' in line ? line.operation : undefined
  if (!isOperation(operation)) return invalidRequest(`operation: must be one of ${operations.join(', ')}`)
  const result = requestSchemas[operation].safeParse(line)
  if (!result.success) return invalidRequest(...new Set(result.error.issues.flatMap(toMistakes)))
  return toRequest(result.data)
}

export function hasExpired(expiresAt: string | null, now: EpochMs): boolean {
  const at = parseTime(expiresAt)
  return at !== undefined && at * 1000 <= now
}

/** Reasons why it would expire immediately if it were queued now. */
export function expiryMistakes({ expiresAt }: WritebackRequest, now: EpochMs): readonly string[] {
  if (!hasExpired(expiresAt, now)) return []
  return [`expires_at: ${expiresAt} has passed; leave it out, or give a future time`]
}

function isOperation(value: unknown): value is Operation {
  return operations.some((operation) => operation === value)
}

function toRequest(line: z.infer<(typeof requestSchemas)[Operation]>): RequestParseResult {
  const shared = { ref: line.ref ?? null, expect: line.expect, expiresAt: line.expires_at }
  switch (line.operation) {
    case 'message': {
      const payload = { content: line.content, sender_name: line.sender_name }
      return validRequest({ operation: 'message', target: line.conversation_id, payload, ...shared })
    }
    case 'handled': {
      const payload = { handled: line.handled }
      return validRequest({ operation: 'handled', target: line.conversation_id, payload, ...shared })
    }
    case 'note':
      return validRequest({ operation: 'note', target: line.visitor_id, payload: { content: line.content }, ...shared })
    case 'visitor': {
      const { name, email } = line
      if (name === undefined && email === undefined) return invalidRequest('name, email: at least one must be given')
      const payload = { ...(name === undefined ? {} : { name }), ...(email === undefined ? {} : { email }) }
      return validRequest({ operation: 'visitor', target: line.visitor_id, payload, ...shared })
    }
  }
}

function toMistakes(issue: z.core.$ZodIssue): string[] {
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => `${key}: is not a field of this operation`)
  return [`${issue.path.join('.')}: ${issue.message}`]
}

function validRequest(request: WritebackRequest): RequestParseResult {
  return { ok: true, request }
}

function invalidRequest(...why: string[]): RequestParseResult {
  return { ok: false, why }
}
