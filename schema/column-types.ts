/** The portable column types, on which landed migrations depend: add types, never change one. */
export type DatabaseKind = 'sqlite' | 'postgres'

/**
 * `key`: text that takes part in a key, compared by bytes in both databases. `time`: UTC; RFC 3339
 * text (`YYYY-MM-DDThh:mm:ssZ`) in SQLite, `timestamptz` in Postgres. `date`: `YYYY-MM-DD`. `json`:
 * JSON text, `jsonb` in Postgres. `uuid`: an id of deskmirror, in less than half of a text's space.
 *
 * For analysts: `utc_time` and `local_date` are `time` and `date` with declared types that BI tools
 * recognise in SQLite. `int32`: a count or a number of an hour.
 */
export const columnTypes = {
  // Byte order, so that the order of keys is the same everywhere.
  key: { sqlite: 'text', postgres: 'text collate "C"', exported: 'text' },
  text: { sqlite: 'text', postgres: 'text', exported: 'text' },
  integer: { sqlite: 'integer', postgres: 'bigint', exported: 'integer' },
  number: { sqlite: 'real', postgres: 'double precision', exported: 'number' },
  boolean: { sqlite: 'boolean', postgres: 'boolean', exported: 'boolean' },
  time: { sqlite: 'text', postgres: 'timestamptz', exported: 'time' },
  date: { sqlite: 'text', postgres: 'date', exported: 'date' },
  json: { sqlite: 'text', postgres: 'jsonb', exported: 'json' },
  uuid: { sqlite: 'text', postgres: 'uuid', exported: 'text' },
  int32: { sqlite: 'integer', postgres: 'integer', exported: 'integer' },
  utc_time: { sqlite: 'timestamp', postgres: 'timestamptz', exported: 'time' },
  local_date: { sqlite: 'date', postgres: 'date', exported: 'date' },
} as const

export type ColumnType = keyof typeof columnTypes

/**
 * `dimension`: to group by or to compare with. Others are measured: `sum`: can be added up.
 * `distinct`: counts different things, of which a sum would count some twice. `none`: cannot be
 * combined, as medians, or states at different times.
 */
export type NumberUse = 'dimension' | 'sum' | 'distinct' | 'none'

/** How a column and a table are described as data. */
export type ColumnSpec = readonly [
  type: ColumnType | `${ColumnType}?`,
  note: string,
  use?: NumberUse,
]

type NumberType = `${'integer' | 'int32' | 'number'}${'' | '?'}`

const types = Object.keys(columnTypes) as ColumnType[]

/** By the type of a column, that without the mark that it may be null. */
export const plainType = Object.fromEntries(
  types.flatMap((type) => [
    [type, type],
    [`${type}?`, type],
  ]),
) as Readonly<Record<ColumnSpec[0], ColumnType>>

/** The types of undocumented fields, as `discovered_fields` names them. */
export type FieldType = 'boolean' | 'integer' | 'number' | 'timestamp' | 'text' | 'json'

export const columnTypeOf = (type: FieldType): ColumnType => (type === 'timestamp' ? 'time' : type)

export type TableSpec = {
  readonly note: string
  /** `project_id` first if the table has one. */
  readonly key: readonly string[]
  /**
   * Of a table with many rows for one parent: Postgres has an index on these columns instead of the
   * key, a quarter of its size; tests show that the key is unique.
   */
  readonly postgresIndex?: readonly string[]
  /** The table that stores the rows, if this is a view of it. */
  readonly storedIn?: string
  /**
   * Where its values of customers come from, if it is not of a group that says so: see `sourceOf`.
   * `derived`: they are made from those of the service.
   */
  readonly source?: 'service' | 'write-backs' | 'derived'
  /** Why `deskmirror move` does not copy it: it is of a warehouse, or made from other rows. */
  readonly notMoved?: string
  /** Why a lake does not have it unless it is named, although its rows are the service's. */
  readonly notInLake?: string
  readonly columns: Readonly<Record<string, ColumnSpec>>
}

/** A number says what it is, because neither name nor type tells. */
export type AnalyticsTableSpec = TableSpec & {
  readonly columns: Readonly<
    Record<
      string,
      | readonly [type: Exclude<ColumnSpec[0], NumberType>, note: string]
      | readonly [type: NumberType, note: string, use: NumberUse]
    >
  >
}

export const projectColumns = {
  project_id: ['key', 'the project that the row belongs to'],
} as const
