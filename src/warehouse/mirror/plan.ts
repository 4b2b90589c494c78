/** How a stream's rows become parameters: the columns in order, and what makes a value fit each of them. */

import { tables } from '../../../schema/tables.ts'
import type { MirrorRow, Refused, Scalar, StreamName } from '../../core/row.ts'
import { rfc3339 } from '../../core/time.ts'
import type { FieldsOfStream } from '../columns/fields.ts'
import { columnTypeOf } from '../columns/type.ts'
import { type Bound, type Encode, encoder } from './cell.ts'
import type { Context } from './context.ts'
import { loadedColumns, tableOf } from './stream-tables.ts'
import type { Shape } from './upsert.ts'

export type Plan = {
  readonly shape: Shape
  /** Where the key's columns are in a row, `project_id` left out. */
  readonly key: readonly number[]
  /** Parameters of one row. `raw`, times and texts are encoded for the database. */
  readonly bind: (row: MirrorRow, askedAt: number) => Bound[]
}

/** Streams whose changed rows have consequences elsewhere: the column that names them. */
const consequential: Partial<Record<StreamName, string>> = {
  conversations: 'id',
  visitors: 'id',
  calls: 'id',
  analytics: 'window_from',
}

/** Plans by what they depend on, so that statements are compiled once. */
export function createPlans(
  context: Context,
): (stream: StreamName, fields: FieldsOfStream, authoritative: boolean) => Plan {
  const plans = new WeakMap<FieldsOfStream, Map<string, Plan>>()
  return (stream, fields, authoritative) => {
    const own = plans.get(fields) ?? new Map<string, Plan>()
    plans.set(fields, own)
    const name = `${stream} ${authoritative}`
    const plan = own.get(name) ?? planOf(context, stream, fields, authoritative)
    own.set(name, plan)
    return plan
  }
}

function planOf(context: Context, stream: StreamName, fields: FieldsOfStream, authoritative: boolean): Plan {
  const table = tableOf[stream]
  const documented = loadedColumns(table)
  const discovered = fields.held.map(({ column, type }) => ({ name: column, type: columnTypeOf[type] }))
  const columns = [...documented, ...discovered]
  const newerBy = stream === 'conversations' && !authoritative ? 'last_message_at' : null
  const key = tables[table].key.filter((name) => name !== 'project_id')
  return {
    shape: { table, columns, returning: consequential[stream] ?? null, newerBy },
    key: key.map((name) => columns.findIndex((column) => column.name === name)),
    bind: binder(context, columns, documented.length, fields),
  }
}

/** When a page was asked for: in milliseconds, and as text. */
type Asked = { readonly at: number; readonly text: string }
type Take = (row: MirrorRow, asked: Asked) => Scalar | undefined

function binder(context: Context, columns: Shape['columns'], documented: number, fields: FieldsOfStream): Plan['bind'] {
  const encoders = columns.map(({ type }) => encoder(type, context.kind, context.tally))
  const takes = columns.map(({ name }, i): Take => {
    const path = fields.held[i - documented]?.path
    if (path !== undefined) return (row) => row.extra.get(path)?.value
    return ownColumns(context)[name] ?? ((row) => row.columns[name])
  })
  let asked: Asked = { at: Number.NaN, text: '' }
  return (row, askedAt) => {
    if (asked.at !== askedAt) asked = { at: askedAt, text: rfc3339(Math.floor(askedAt / 1000)) }
    const parameters: Bound[] = new Array(columns.length)
    for (let i = 0; i < columns.length; i++) parameters[i] = (encoders[i] as Encode)((takes[i] as Take)(row, asked))
    return parameters
  }
}

/** Columns that no field of a row fills. */
function ownColumns(context: Context): Readonly<Record<string, Take>> {
  return {
    project_id: () => context.project,
    raw: (row) => row.raw,
    synced_at: (_row, asked) => asked.text,
    run_id: () => context.run(),
    asked_at: (_row, asked) => asked.at,
    read_at: (row, asked) => row.columns.read_at ?? asked.text,
  }
}

/**
 * Bytes of one part of a key. Postgres's indexes hold entries of 2,704 bytes at the most, all parts of a key together.
 * Source: its documentation, "B-Tree Indexes".
 */
const longestKey = 800

/** Rows ready to be stored, one a key: the last one wins. Rows without a key that can be stored are left out. */
export function bindAll(
  plan: Plan,
  rows: readonly MirrorRow[],
  askedAt: number,
): { rows: Bound[][]; unkeyed: Refused[] } {
  const byKey = new Map<string, Bound[]>()
  const unkeyed: Refused[] = []
  for (const row of rows) {
    const parameters = plan.bind(row, askedAt)
    const parts = plan.key.map((i) => parameters[i] ?? null)
    const why = parts.includes(null)
      ? 'its key is missing or unreadable'
      : parts.some(isLong)
        ? 'its id is too long'
        : null
    if (why === null) byKey.set(parts.join('\n'), parameters)
    else unkeyed.push({ id: row.columns.id === undefined ? null : String(row.columns.id), why })
  }
  return { rows: [...byKey.values()], unkeyed }
}

function isLong(part: Bound): boolean {
  return typeof part === 'string' && part.length > longestKey / 4 && Buffer.byteLength(part) > longestKey
}
