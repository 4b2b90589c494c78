/** Rows as Parquet. A row group is written as soon as it is full, so only one of them is in memory. */
import { ByteWriter, type ColumnSource, ParquetWriter, type SchemaElement } from 'hyparquet-writer'
import { daySeconds } from '../values/time.ts'
import type {
  ByteOutput,
  ExportColumn,
  ExportRow,
  ExportSelection,
  ExportType,
  ExportValue,
  RowWriter,
} from './core/export.ts'

/** A row group is full when it has as many rows, or about as many characters. */
const groupRows = 25_000
const groupSize = 8_000_000

export function createParquetWriter(selection: ExportSelection, output: ByteOutput): RowWriter {
  const { columns } = selection
  const buffer = new ByteWriter()
  const root = { name: 'root', num_children: columns.length }
  const parquet = new ParquetWriter({ writer: buffer, schema: [root, ...columns.map(toSchemaElement)] })
  let group = createRowGroup(selection)
  const flush = async () => {
    // A copy, as the buffer is filled again while the output may still keep the bytes.
    await output.write(buffer.getBytes().slice())
    buffer.index = 0
  }
  const writeGroup = async () => {
    if (group.rows() === 0) return
    await parquet.write({ columnData: group.columns, rowGroupSize: group.rows() })
    group = createRowGroup(selection)
    await flush()
  }
  return {
    async write(rows) {
      for (const row of rows) {
        group.add(row)
        if (group.rows() >= groupRows || group.size() >= groupSize) await writeGroup()
      }
    },
    async end() {
      await writeGroup()
      await parquet.finish()
      await flush()
    },
  }
}

function toSchemaElement({ name, type }: ExportColumn): SchemaElement {
  return { name, repetition_type: 'OPTIONAL', ...elementTypes[type] }
}

const textElement = { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } } as const

const elementTypes: Readonly<Record<ExportType, Omit<SchemaElement, 'name'>>> = {
  text: textElement,
  integer: { type: 'INT64' },
  number: { type: 'DOUBLE' },
  boolean: { type: 'BOOLEAN' },
  time: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MILLIS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
  },
  date: { type: 'INT32', converted_type: 'DATE', logical_type: { type: 'DATE' } },
  json: textElement,
}

type RowGroup = {
  readonly columns: ColumnSource[]
  readonly add: (row: ExportRow) => void
  readonly rows: () => number
  readonly size: () => number
}

function createRowGroup({ object, columns }: ExportSelection): RowGroup {
  const data = columns.map((): ParquetValue[] => [])
  const encoders = columns.map(({ type }) => valueEncoders[type])
  let [rows, size] = [0, 0]
  return {
    columns: columns.map((column, n) => {
      return { name: column.name, data: data[n] ?? [], statistics: hasUsefulBounds(object.key, column) }
    }),
    add: (row) => {
      for (const [n, value] of row.entries()) {
        data[n]?.push(value === null ? null : (encoders[n]?.(value) ?? null))
        size += typeof value === 'string' ? value.length : 8
      }
      rows += 1
    },
    rows: () => rows,
    size: () => size,
  }
}

/**
 * Readers skip row groups by the smallest and largest values. Those of texts help only in the key, by which rows are
 * ordered, and take a quarter of the time of an export.
 */
function hasUsefulBounds(key: readonly string[], { name, type }: ExportColumn): boolean {
  return (type !== 'text' && type !== 'json') || key.includes(name)
}

type ParquetValue = string | number | bigint | boolean | null

/** Times in milliseconds, dates in days, both since 1970. */
const valueEncoders: Readonly<Record<ExportType, (value: NonNullable<ExportValue>) => ParquetValue>> = {
  text: (value) => value,
  integer: (value) => BigInt(value),
  number: (value) => value,
  boolean: (value) => value,
  time: (value) => Date.parse(String(value)),
  date: (value) => Date.parse(String(value)) / (daySeconds * 1000),
  json: (value) => value,
}
