/** Rows as Parquet. A row group is written as soon as it is full, so one is in memory. */
import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer'
import { daySeconds } from '../../values/time.ts'
import type {
  ByteOutput,
  ExportColumn,
  ExportSelection,
  ExportType,
  ExportValue,
  RowWriter,
} from '../core/selection.ts'

/** A row group is full when it has as many rows, or about as many characters. */
const groupRows = 25_000
const groupSize = 8_000_000

export function createParquetWriter(
  { object, columns }: ExportSelection,
  output: ByteOutput,
): RowWriter {
  const buffer = new ByteWriter()
  const elements = columns.map(({ name, type }): SchemaElement => {
    return { name, repetition_type: 'OPTIONAL', ...parquetTypes[type].element }
  })
  const root = { name: 'root', num_children: columns.length }
  const parquet = new ParquetWriter({ writer: buffer, schema: [root, ...elements] })
  const startGroup = () => columns.map((column) => ({ column, data: [] as ExportValue[] }))
  let group = startGroup()
  let rows = 0
  let size = 0
  const flush = async () => {
    // A copy, as the buffer is filled again while the output may still keep the bytes.
    await output.write(buffer.getBytes().slice())
    buffer.index = 0
  }
  const writeGroup = async () => {
    if (rows === 0) return
    const columnData = group.map(({ column, data }) => {
      return { name: column.name, data, statistics: hasUsefulBounds(object.key, column) }
    })
    await parquet.write({ columnData, rowGroupSize: rows })
    group = startGroup()
    rows = 0
    size = 0
    await flush()
  }
  return {
    async write(added) {
      for (const row of added) {
        for (const [n, { column, data }] of group.entries()) {
          const value = row[n] ?? null
          data.push(value === null ? null : parquetTypes[column.type].encode(value))
          size += typeof value === 'string' ? value.length : 8
        }
        rows += 1
        if (rows >= groupRows || size >= groupSize) await writeGroup()
      }
    },
    async end() {
      await writeGroup()
      await parquet.finish()
      await flush()
    },
  }
}

/**
 * Readers skip row groups by the smallest and largest values. Those of texts help only in the key,
 * by which rows are ordered, and take a quarter of the time of an export.
 */
function hasUsefulBounds(key: readonly string[], { name, type }: ExportColumn): boolean {
  return (type !== 'text' && type !== 'json') || key.includes(name)
}

const asIs = (value: NonNullable<ExportValue>): ExportValue => value
const text = {
  element: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  encode: asIs,
} as const

/** Times in milliseconds, dates in days, both since 1970. */
const parquetTypes: Readonly<
  Record<
    ExportType,
    {
      readonly element: Omit<SchemaElement, 'name'>
      readonly encode: (value: NonNullable<ExportValue>) => ExportValue
    }
  >
> = {
  text,
  integer: { element: { type: 'INT64' }, encode: BigInt },
  number: { element: { type: 'DOUBLE' }, encode: asIs },
  boolean: { element: { type: 'BOOLEAN' }, encode: asIs },
  time: {
    element: {
      type: 'INT64',
      converted_type: 'TIMESTAMP_MILLIS',
      logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
    },
    encode: (value) => Date.parse(String(value)),
  },
  date: {
    element: { type: 'INT32', converted_type: 'DATE', logical_type: { type: 'DATE' } },
    encode: (value) => Date.parse(String(value)) / (daySeconds * 1000),
  },
  json: text,
}
