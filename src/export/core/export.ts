/** What an export reads and reports: objects of the warehouse, their columns, rows and values. */
import type { Ms } from '../../values/time.ts'

/** The types of exported columns; all key and text columns are `text`. */
export type ExportType = 'text' | 'integer' | 'number' | 'boolean' | 'time' | 'date' | 'json'

/**
 * The same for both databases. `time`: `YYYY-MM-DDThh:mm:ssZ`; `date`: `YYYY-MM-DD`; `json`: canonical JSON text; an
 * integer beyond 2^53 is a bigint.
 */
export type ExportValue = string | number | bigint | boolean | null
/** Values in the order of the columns. */
export type ExportRow = readonly ExportValue[]

export type ExportColumn = { readonly name: string; readonly type: ExportType }
type ObjectKind = 'table' | 'view'
export type ObjectName = { readonly name: string; readonly kind: ObjectKind }
/** `key`: the columns of the primary key; empty for a view. */
export type ExportObject = ObjectName & {
  readonly columns: readonly ExportColumn[]
  readonly key: readonly string[]
}

export type ExportCondition = {
  readonly column: ExportColumn
  readonly operator: '=' | '>=' | '<'
  /** Null only with `=`: the column has no value. */
  readonly value: ExportValue
}

/** The rows that meet all conditions, with these columns, in the order of the key. */
export type ExportSelection = {
  readonly object: ExportObject
  readonly columns: readonly ExportColumn[]
  readonly conditions: readonly ExportCondition[]
}

/** One state of the warehouse: what others commit meanwhile is not seen. */
export type ExportSnapshot = {
  /** Tables and views that may be read, by name. */
  readonly listObjects: () => Promise<readonly ObjectName[]>
  readonly describe: (object: ObjectName) => Promise<ExportObject>
  readonly countRows: (selection: ExportSelection) => Promise<number>
  /** Batches of bounded size. */
  readonly readRows: (selection: ExportSelection) => AsyncIterable<readonly ExportRow[]>
}

/** Where the rows of one object go. */
export type RowWriter = {
  readonly write: (rows: readonly ExportRow[]) => Promise<void>
  /** Writes what is left. Call it once, after all rows. */
  readonly end: () => Promise<void>
}

/** Resolves when more may be written. */
export type ByteOutput = { readonly write: (bytes: Uint8Array) => Promise<void> }

export const exportFormats = ['csv', 'jsonl', 'parquet', 'sqlite'] as const
export type ExportFormat = (typeof exportFormats)[number]

/** `total`: null = not counted. */
export type ExportProgress = { readonly object: string; readonly rows: number; readonly total: number | null }

export type ExportedObject = {
  readonly object: string
  readonly kind: ObjectKind
  readonly rows: number
  /** Null: standard output. */
  readonly file: string | null
  /** Of the file; null in a file that other objects share. */
  readonly bytes: number | null
  /** The column that `--since` and `--until` were compared with. */
  readonly timeColumn: string | null
}
export type ExportReport = {
  readonly format: ExportFormat
  readonly objects: readonly ExportedObject[]
  readonly tookMs: Ms
}
