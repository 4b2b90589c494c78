/** How a stream's rows become parameters: the columns in order, and what makes a value fit each of them. */

import { tables } from '../../schema/tables.ts'
import type { MirrorRow, StreamName } from '../core/row.ts'
import { rfc3339 } from '../core/time.ts'
import { type Bound, type Encode, encoder } from './cell.ts'
import type { Context } from './context.ts'
import type { FieldsOfStream } from './fields.ts'
import { columnTypeOf } from './fieldtype.ts'
import { loadedColumns, tableOf } from './streamtables.ts'
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

function binder(context: Context, columns: Shape['columns'], documented: number, fields: FieldsOfStream): Plan['bind'] {
  const encoders = columns.map(({ type }) => encoder(type, context.kind, context.tally))
  const common: Readonly<Record<string, number>> = { project_id: 0, raw: 1, synced_at: 2, run_id: 3, asked_at: 4 }
  const at = columns.map(({ name }) => common[name] ?? -1)
  let synced = { at: Number.NaN, text: '' }
  return (row, askedAt) => {
    if (synced.at !== askedAt) synced = { at: askedAt, text: rfc3339(Math.floor(askedAt / 1000)) }
    const values = [context.project, row.raw, synced.text, context.run(), askedAt]
    const parameters: Bound[] = new Array(columns.length)
    for (let i = 0; i < columns.length; i++) {
      const encode = encoders[i] as Encode
      const own = at[i] ?? -1
      const value =
        i >= documented
          ? row.extra.get(fields.held[i - documented]?.path ?? '')?.value
          : own >= 0
            ? values[own]
            : row.columns[columns[i]?.name ?? '']
      parameters[i] = encode(value)
    }
    return parameters
  }
}

/** Rows ready to be stored, one a key: the last one wins. Rows without a readable key are left out, and counted. */
export function bindAll(plan: Plan, rows: readonly MirrorRow[], askedAt: number): { rows: Bound[][]; keyless: number } {
  const byKey = new Map<string, Bound[]>()
  let keyless = 0
  for (const row of rows) {
    const parameters = plan.bind(row, askedAt)
    let key = ''
    for (const i of plan.key) key = parameters[i] === null ? 'none' : `${key}${String(parameters[i])}\n`
    if (plan.key.some((i) => parameters[i] === null)) keyless++
    else byKey.set(key, parameters)
  }
  return { rows: [...byKey.values()], keyless }
}
