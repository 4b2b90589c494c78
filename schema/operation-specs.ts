/** The operations of write-backs, as the database checks them: which target each has, and what its payload may hold. */

export const targetKinds = ['conversation', 'visitor'] as const
export type TargetKind = (typeof targetKinds)[number]

/** A field of a target that write-backs set, and where it is read before and after. */
export type FieldSpec = {
  readonly target: TargetKind
  /** What the service calls it. */
  readonly shownAs: string
  /** Of the mirrored table; without one it is read from `raw`. */
  readonly column?: string
  /** It is shown as the time since when it is set: what people call it when it is not set, and when it is. */
  readonly flagWords?: readonly [off: string, on: string]
}

/** By their names in payloads. */
export const targetFields = {
  handled: { target: 'conversation', shownAs: 'handledAt', column: 'handled_at', flagWords: ['open', 'handled'] },
  name: { target: 'visitor', shownAs: 'name', column: 'name' },
  email: { target: 'visitor', shownAs: 'email', column: 'email' },
} as const satisfies Readonly<Record<string, FieldSpec>>

export type FieldName = keyof typeof targetFields

/** A text that is not blank. In an operation with optional ones, one must be given, and null clears it. */
type TextSpec = { readonly maxLength: number; readonly isOptional?: true }

export type OperationSpec = {
  readonly target: TargetKind
  /** Whether sending it twice has the same effect as once. */
  readonly isIdempotent: boolean
  /** The migration by which a warehouse accepts it: its own one, with the next number. */
  readonly since: string
  readonly payload: Readonly<Record<string, TextSpec | 'flag'>>
}

/** In characters. The service's own limits are not documented. */
export const maxLengths = { content: 20_000, name: 300, email: 320, ref: 200 } as const

const content = { maxLength: maxLengths.content }

export const operationSpecs = {
  message: {
    target: 'conversation',
    isIdempotent: false,
    since: '0003_outbox',
    payload: { content, sender_name: { maxLength: maxLengths.name } },
  },
  handled: {
    target: 'conversation',
    isIdempotent: true,
    since: '0003_outbox',
    payload: { handled: 'flag' },
  },
  visitor: {
    target: 'visitor',
    isIdempotent: true,
    since: '0003_outbox',
    payload: {
      name: { maxLength: maxLengths.name, isOptional: true },
      email: { maxLength: maxLengths.email, isOptional: true },
    },
  },
  note: {
    target: 'visitor',
    isIdempotent: false,
    since: '0003_outbox',
    payload: { content },
  },
} as const satisfies Readonly<Record<string, OperationSpec>>

const described = Object.entries<OperationSpec>(operationSpecs)

export function operationsWhere(condition: (spec: OperationSpec) => boolean): readonly string[] {
  return described.flatMap(([operation, spec]) => (condition(spec) ? [operation] : []))
}

export function operationsOn(kind: TargetKind): readonly string[] {
  return operationsWhere(({ target }) => target === kind)
}

export function inList(names: readonly string[]): string {
  return `in (${names.map((name) => `'${name}'`).join(',')})`
}
