/** How the two databases store the same value, and one text for equal values, to compare copies. */
import { type ColumnType, columnTypes, type DatabaseKind } from '../../../schema/column-types.ts'
import { type Scalar, toCanonicalJson } from '../../values/json.ts'
import { normalizeTime } from '../../values/time.ts'
import { decodeJson, encodeJson } from '../../warehouse/escape.ts'

/** `convert`: undefined = it cannot be stored there. `formOf`: of a returned value. */
export type ValueCodec = {
  readonly convert: (value: Scalar) => Scalar | undefined
  readonly formOf: (kind: DatabaseKind, value: Scalar) => string | null
}

export function codecOf(from: DatabaseKind, to: DatabaseKind, type: ColumnType): ValueCodec {
  const { convert, formOf } = from === to ? unchanged : codecs(to)[columnTypes[type].exported]
  return {
    convert: (value) => (value === null ? null : convert(value)),
    formOf: (kind, value) => (value === null ? null : formOf(kind, value)),
  }
}

const unchanged: ValueCodec = {
  convert: (value) => value,
  formOf: (_, value) => String(value),
}

/** What Postgres has in place of a NUL; see `escape.ts`. */
const nul = '\u241b0000'
const withMarks = (value: Scalar) => String(value).replaceAll('\0', nul)

const codecs = (
  to: DatabaseKind,
): Readonly<Record<(typeof columnTypes)[ColumnType]['exported'], ValueCodec>> => ({
  text: {
    convert: (value) =>
      to === 'postgres' ? withMarks(value) : String(value).replaceAll(nul, '\0'),
    formOf: (_, value) => withMarks(value),
  },
  integer: unchanged,
  number: { convert: Number, formOf: (_, value) => String(Number(value)) },
  boolean: {
    convert: (value) => (to === 'postgres' ? Number(value) !== 0 : Number(value)),
    formOf: (_, value) => String(Number(value)),
  },
  time: {
    convert: (value) => toTime(String(value)),
    formOf: (_, value) => toTime(String(value)) ?? String(value),
  },
  date: unchanged,
  json: {
    convert: (value) => {
      const text = String(value)
      return to === 'postgres' ? encodeJson(to, text) : decodeJson('postgres', text)
    },
    formOf: (kind, value) => toCanonicalJson(decodeJson(kind, String(value))),
  },
})

/** A person may have written one that SQLite's own functions make, without a zone. */
const toTime = (text: string): string | undefined =>
  normalizeTime(text) ?? normalizeTime(`${text}Z`)
