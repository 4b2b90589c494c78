/** One wish of a person, before it is queued: an operation, whom it is about, and what to send. Pure: text in, values or reasons out. */
import { z } from 'zod'
import { type EpochMs, parseTime, rfc3339 } from '../time.ts'

export const operations = ['message', 'handled', 'visitor', 'note'] as const
export type Operation = (typeof operations)[number]

/** What each of them is about. */
export const targetKind = {
  message: 'conversation',
  handled: 'conversation',
  visitor: 'visitor',
  note: 'visitor',
} as const satisfies Record<Operation, 'conversation' | 'visitor'>

/** Those that are about the same conversation or visitor go one after the other: the name of their lane. */
export function toLaneName(kind: 'conversation' | 'visitor', id: string): string {
  return `${kind}/${id.toLowerCase()}`
}

/** As the column `payload` holds it. In `visitor` a field left out is kept, and null clears it. */
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
    /** The person's own key: the same one is never queued twice. */
    readonly ref: string | null
    /** The last message that the person saw: its id as digits, or its time in RFC 3339. */
    readonly expect: string | null
    /** Not to be sent after; RFC 3339. */
    readonly expiresAt: string | null
  }
}[Operation]

/** `why`: one reason a mistake, each beginning with the field that it is about. */
export type RequestParseResult =
  | { readonly ok: true; readonly request: WritebackRequest }
  | { readonly ok: false; readonly why: readonly string[] }

/** Characters. The service's own limits are not documented. */
export const maxLengths = { content: 20_000, name: 300, email: 320, ref: 200 } as const

const uuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i

/** zod shows the input here only, and not in what it reports. */
const missingOr = (why: string) => (issue: { readonly input?: unknown }) =>
  issue.input === undefined ? 'is missing' : why

/** What no text may hold: control characters but line ends and tabs, and halves of surrogate pairs. */
const forbiddenCharacters = /[\p{Cc}--[\n\r\t]]|\p{Surrogate}/v

/** A name, an address or a key: a text of one line. */
function singleLineText(maxLength: number) {
  return text(maxLength).refine((value) => !/[\n\r\t]/.test(value), 'must be one line, without tabs')
}

function text(maxLength: number) {
  return z
    .string({ error: missingOr('must be a text') })
    .max(maxLength, `is longer than ${maxLength} characters`)
    .refine((value) => value.trim() !== '', 'is empty')
    .refine((value) => !forbiddenCharacters.test(value), 'holds control characters or broken ones')
}

const idSchema = z.string({ error: missingOr('must be an id') }).regex(uuid, 'is no UUID')

/** An id in digits, a time, or the message itself as the mirror or the service shows it. */
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

/** As large as a database can hold it. */
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

/** JavaScript takes 30 February for 2 March, and a zone can carry a time out of the years that RFC 3339 can write. */
function parseTimestamp(value: unknown): string | undefined {
  const at = parseTime(value)
  const day = parseTime(`${String(value).slice(0, 10)}T00:00:00Z`)
  if (at === undefined || day === undefined) return undefined
  const exists = String(value).startsWith(rfc3339(day).slice(0, 10))
  return exists && parseTime(rfc3339(at)) === at ? rfc3339(at) : undefined
}

const commonFields = { ref: singleLineText(maxLengths.ref).nullish(), expect: expectSchema, expires_at: expiresAtSchema }
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

/** Reads one line of an import, or one row of the queue laid flat. */
export function parseRequest(line: unknown): RequestParseResult {
  if (typeof line !== 'object' || line === null || Array.isArray(line)) return invalidRequest('must be a JSON object')
  const operation = 'operation' in line ? line.operation : undefined
  if (!isOperation(operation)) return invalidRequest(`operation: must be one of ${operations.join(', ')}`)
  const result = requestSchemas[operation].safeParse(line)
  if (!result.success) return invalidRequest(...new Set(result.error.issues.flatMap(toMistakes)))
  return toRequest(result.data)
}

/** Whether it is not to be sent any more. */
export function hasExpired(expiresAt: string | null, now: EpochMs): boolean {
  const at = parseTime(expiresAt)
  return at !== undefined && at * 1000 <= now
}

/** Why it would never be sent if it were queued now. */
export function expiryMistakes({ expiresAt }: WritebackRequest, now: EpochMs): readonly string[] {
  if (!hasExpired(expiresAt, now)) return []
  return [`expires_at: ${expiresAt} has passed; leave it out, or name a time to come`]
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
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => `${key}: is no field of this operation`)
  return [`${issue.path.join('.')}: ${issue.message}`]
}

function validRequest(request: WritebackRequest): RequestParseResult {
  return { ok: true, request }
}

function invalidRequest(...why: string[]): RequestParseResult {
  return { ok: false, why }
}
