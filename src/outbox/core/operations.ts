/**
 * The operations, which commands, CSV columns, reviews, estimates and reverts follow. What the
 * database checks is in `schema/operation-specs.ts`, how each is sent in `handlers/`. Pure.
 */
import type { z } from 'zod'
import {
  type FieldName,
  maxLengths,
  type OperationSpec,
  operationSpecs,
  type TargetKind,
  targetKinds,
} from '../../../schema/operation-specs.ts'
import { commonFields } from './common-fields.ts'
import {
  contentField,
  type FieldValues,
  flagSchema,
  isFlag,
  type PayloadField,
  type RequestField,
  singleLineText,
} from './field-kinds.ts'

/** What a person calls what a write-back does: in a column, of one and of several. */
export const reviewActions = {
  reply: ['reply', 'reply', 'replies'],
  mark_handled: ['mark handled', 'conversation to mark handled', 'conversations to mark handled'],
  reopen: ['reopen', 'conversation to reopen', 'conversations to reopen'],
  correct_visitor: ['correct visitor', 'visitor to correct', 'visitors to correct'],
  add_note: ['note', 'note', 'notes'],
} as const
export type ReviewAction = keyof typeof reviewActions

export type OperationType = OperationSpec & {
  /** Null: it can be taken back. */
  readonly notRevertible: string | null
  /** Whether a customer reads it. */
  readonly isPublic: boolean
  /** On pages. */
  readonly words: readonly [one: string, many: string]
  /** `unless`: given in a payload, it makes another action of it. */
  readonly action: ReviewAction
  readonly unless?: {
    readonly field: FieldName
    readonly is: boolean
    readonly action: ReviewAction
  }
  /** The fields of its payload that set fields of its target; none: it adds something instead. */
  readonly sets: readonly FieldName[]
  /** What it changes beside them. */
  readonly alsoSets?: FieldValues
  /** Of the precondition, and afterwards. Measured against the sandbox, without verifications. */
  readonly readsPerSend: number
  /** In the order of the CSV columns. If all are optional, one must be given. */
  readonly fields: Readonly<Record<string, PayloadField>>
  readonly summary: string
  /** Arguments of `writeback add`, after the operation. */
  readonly examples: readonly string[]
}

const described = {
  message: {
    ...operationSpecs.message,
    notRevertible:
      'a reply cannot be taken back; if it reopened a conversation, that is marked handled again',
    isPublic: true,
    words: ['reply', 'replies'],
    action: 'reply',
    sets: [],
    // It reopens its conversation.
    alsoSets: { handled: false },
    readsPerSend: 4,
    fields: {
      content: {
        ...contentField,
        help: 'the text; - reads it from standard input (required, unless --template)',
      },
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
    ...operationSpecs.handled,
    notRevertible: null,
    isPublic: false,
    words: ['flag', 'flags'],
    action: 'mark_handled',
    unless: { field: 'handled', is: false, action: 'reopen' },
    sets: ['handled'],
    readsPerSend: 3,
    fields: {
      handled: {
        schema: flagSchema,
        kind: 'flag',
        value: 'true|false',
        help: 'false reopens it',
        default: true,
      },
    },
    summary: 'mark a conversation handled, or reopen it',
    examples: [
      '--conversation ID                     marks it handled',
      '--conversation ID --handled false     reopens it',
    ],
  },
  visitor: {
    ...operationSpecs.visitor,
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
    ...operationSpecs.note,
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
  readonly [O in keyof typeof operationSpecs]: Omit<OperationType, 'fields'> & {
    readonly fields: Readonly<Record<keyof (typeof operationSpecs)[O]['payload'], PayloadField>>
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

/** It sets texts, which someone else may edit meanwhile. */
export function isCorrection({ sets }: Pick<OperationType, 'sets'>): boolean {
  return sets.some((field) => !isFlag(field))
}

/** In the order of help texts: by target, and what adds something before what changes it. */
export const operationsInHelp = targetKinds.flatMap((kind) => [
  ...operationsWhere(({ target, isIdempotent }) => target === kind && !isIdempotent),
  ...operationsWhere(({ target, isIdempotent }) => target === kind && isIdempotent),
])

/** The name of the target's lane. Write-backs of one lane are sent in order. */
export function toLaneName(kind: TargetKind, id: string): string {
  return `${kind}/${id.toLowerCase()}`
}

type SchemasOf<Fields> = {
  -readonly [F in keyof Fields]: Fields[F] extends { readonly schema: infer S extends z.ZodType }
    ? S
    : never
}

/** The column `payload`. In `visitor`, an absent field stays unchanged and null clears it. */
export type WritebackPayload = {
  readonly [O in Operation]: Readonly<
    z.infer<z.ZodObject<SchemasOf<(typeof described)[O]['fields']>>>
  >
}

/** Of all operations: besides the operation and its target. */
export const requestFields = new Map([
  ...Object.values(operationTypes).flatMap(({ fields }) => Object.entries<RequestField>(fields)),
  ...Object.entries<RequestField>(commonFields),
])
