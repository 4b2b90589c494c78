/** The setting `columns`: what may never be stored, or only as a hash, and what may not be named. */
import { z } from 'zod'
import { streamNames } from '../../schema/stream-specs.ts'
import { normalizeName } from '../values/field-path.ts'
import {
  type ColumnRule,
  type ColumnRules,
  columnActions,
  createColumnRules,
} from '../values/private-columns.ts'
import type { Secret } from '../values/secret.ts'
import { writeReference } from './secret-fields.ts'

const orders = 'lists are read, and rows are ordered, by it'
/** Why the mirror needs a field of a row, by its name without case and underscores. */
const needed: Readonly<Record<string, readonly string[]>> = {
  'rows are found, requested and joined by it':
    'id uuid conversationid visitorid callid entryid activityid projectid'.split(' '),
  'it says which rows are new, open or answered':
    'status kind sendertype lastmessagesendertype handled waitingsince available agentsonline hasrecording'.split(
      ' ',
    ),
  [orders]: 'timestamp time at date start starttime created'.split(' '),
}

function whyNeeded(path: string): string | undefined {
  const name = normalizeName(path)
  if (/[a-z]At$|_at$/.test(path)) return orders
  return Object.keys(needed).find((why) => needed[why]?.includes(name))
}

const help =
  'write a map of stream and field, like { visitors.email: hash, ' +
  'messages.content: block, "*.ip": block }'

export const columnsField = z
  .record(z.string(), z.enum(columnActions, { error: 'write block or hash' }), { error: help })
  .transform((lines, context): readonly ColumnRule[] =>
    Object.entries(lines).map(([name, action]) => {
      const [stream = '', ...fields] = name.trim().split('.')
      const path = fields.join('.')
      const addIssue = (message: string) =>
        context.addIssue({ code: 'custom', message, path: [name] })
      if (stream !== '*' && !streamNames.some((known) => known === stream))
        addIssue(`begin the line with a stream: ${streamNames.join(', ')}, or * for every one`)
      else if (fields.length === 0 || fields.includes('')) addIssue(`name a field, too: ${help}`)
      const why = whyNeeded(path)
      if (why !== undefined)
        addIssue(`remove this line, because the mirror needs the field: ${why}`)
      return { stream, path, action }
    }),
  )

/** In characters: whoever can try all keys can undo the hashes. */
const minKeyLength = 16

/** Undefined: the key is right for the rules. */
export function hashKeyProblem({ columns, hashKey }: ColumnSettings): string | undefined {
  if (!columns.some(({ action }) => action === 'hash')) return undefined
  if (hashKey === null) return `is missing: columns are hashed with it; ${writeReference}`
  return hashKey.reveal().length < minKeyLength
    ? `has fewer than ${minKeyLength} characters: whoever can guess it can undo the hashes`
    : undefined
}

type ColumnSettings = {
  readonly columns: readonly ColumnRule[]
  readonly hashKey: Secret | null
}

/** Which fields are not stored as they came; null: all are. */
export function describeColumns(columns: readonly ColumnRule[]): string | null {
  const named = { block: 'never stored', hash: 'only as a hash' } as const
  const parts = columnActions.flatMap((action) => {
    const paths = columns.flatMap((rule) =>
      rule.action === action ? [`${rule.stream}.${rule.path}`] : [],
    )
    return paths.length === 0 ? [] : [`${named[action]}: ${paths.join(', ')}`]
  })
  return parts.length === 0 ? null : parts.join('; ')
}

/** Throws UserError where something is hashed and the key cannot be read. */
export function toColumnRules({ columns, hashKey }: ColumnSettings): ColumnRules {
  return createColumnRules(columns, hashKey)
}
