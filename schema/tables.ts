/**
 * Every table at this version, as data, for inserts, types and the data dictionary. A column is its
 * portable type (`?` = may be null) and a note. A test checks that the migrations create these.
 */

import { analyticsTables } from './analytics-tables.ts'
import type { ColumnType, columnTypes, TableSpec } from './column-types.ts'
import { consoleTables, searchIndexTable } from './console-tables.ts'
import { historyTables, mirrorTables } from './mirror-tables.ts'
import { outboxTables } from './outbox-tables.ts'
import { type StreamName, streamSpecs } from './stream-specs.ts'
import { auditTables, syncTables } from './sync-tables.ts'

export type { ColumnSpec, TableSpec } from './column-types.ts'

export const tables = {
  ...mirrorTables,
  ...historyTables,
  ...outboxTables,
  ...syncTables,
  ...auditTables,
  ...analyticsTables,
  ...consoleTables,
}

/** Null: it has no values of customers, but what people here or the service wrote about them. */
export function sourceOf(table: string): NonNullable<TableSpec['source']> | null {
  if (table in mirrorTables || table in historyTables) return 'service'
  if (table in analyticsTables || table.startsWith(searchIndexTable)) return 'derived'
  const specs: Readonly<Record<string, TableSpec>> = tables
  return specs[table]?.source ?? null
}

type ColumnValue<T extends string> = T extends `${infer U extends ColumnType}?`
  ? ColumnValue<U> | null
  : {
      text: string
      integer: number
      number: number
      boolean: boolean
      time: string
      date: string
      json: string
    }[(typeof columnTypes)[T & ColumnType]['exported']]

/** The tables for kysely. Integers beyond 2^53 are read as bigint although their type is number. */
export type DatabaseSchema = {
  [T in keyof typeof tables]: {
    [C in keyof (typeof tables)[T]['columns']]: (typeof tables)[T]['columns'][C] extends readonly [
      infer S,
      string,
      string?,
    ]
      ? ColumnValue<S & string>
      : never
  }
}

/** Every table, without those that people read as a view of another. */
export const storedTables = Object.entries<TableSpec>(tables).filter(
  ([, { storedIn }]) => storedIn === undefined,
)

/** The table in which a stream's rows are: people may read them by a view. */
export function storedTable(stream: StreamName): string {
  const { table } = streamSpecs[stream]
  const { storedIn = table }: TableSpec = tables[table]
  return storedIn
}
