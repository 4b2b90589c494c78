/** The fields that every operation has: columns of `writebacks`, of files and of commands. Pure. */
import { z } from 'zod'
import { maxLengths } from '../../../schema/operation-specs.ts'
import type { commonColumns } from '../../../schema/outbox-tables.ts'
import { cleanKey } from '../../values/invisible.ts'
import {
  expectSchema,
  type PayloadField,
  type RequestField,
  singleLineText,
  timeSchema,
} from './field-kinds.ts'

/** What every write-back may have besides its operation, target and payload. */
export type CommonValues = {
  /** The caller's idempotency key: the same one is never queued twice. */
  readonly ref: string | null
  /** The last message that the person saw: its id in digits, or its time in RFC 3339. */
  readonly expect: string | null
  /** Not sent after this time; RFC 3339. */
  readonly expiresAt: string | null
}

const cleanedKey = (value: unknown) => (typeof value === 'string' ? cleanKey(value) : value)

/** What every operation has besides target and payload: a column of `writebacks` each. */
export const commonFields = {
  ref: {
    property: 'ref',
    kind: 'key',
    schema: z.preprocess(cleanedKey, singleLineText(maxLengths.ref).nullish()),
    value: 'key',
    help: 'your own key: the same one is never queued twice',
  },
  expect: {
    property: 'expect',
    kind: 'message',
    schema: expectSchema,
    value: 'message',
    help: 'the last message that you saw, its id or its time: not sent if a visitor has written since',
  },
  expires_at: {
    property: 'expiresAt',
    kind: 'time',
    schema: timeSchema,
    value: 'time',
    help: 'do not send it after this time, for example 2026-01-31T18:00:00Z',
  },
} as const satisfies {
  readonly [C in keyof typeof commonColumns]: RequestField &
    Pick<PayloadField, 'value' | 'help'> & { readonly property: keyof CommonValues }
}

export const commonNames = Object.keys(commonFields) as readonly (keyof typeof commonFields)[]
/** The ref says which write-back it is, and nothing about its sending. */
export const conditionNames = commonNames.filter((name) => name !== 'ref')

export function commonValue(request: CommonValues, name: keyof typeof commonFields): string | null {
  return request[commonFields[name].property]
}

export function mapCommonValues(
  values: CommonValues,
  change: (value: string | null) => string | null,
): CommonValues {
  const changed = commonNames.map((name) => [
    commonFields[name].property,
    change(commonValue(values, name)),
  ])
  return Object.fromEntries(changed) as CommonValues
}

/** From a line that its schema has parsed. */
export function toCommonValues(line: Readonly<Record<string, unknown>>): CommonValues {
  const values = commonNames.map((name) => [commonFields[name].property, line[name] ?? null])
  return Object.fromEntries(values) as CommonValues
}
