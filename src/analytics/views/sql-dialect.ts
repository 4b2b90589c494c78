/** The few expressions of the views that differ between the databases. Arguments are SQL. */
import type { DatabaseKind } from '../../../schema/column-types.ts'

export type SqlDialect = {
  /** The present second. */
  readonly now: string
  /** Seconds since 1970, as an integer. */
  readonly epoch: (time: string) => string
  /** The date of local seconds, which are seconds since 1970 plus the offset of the zone. */
  readonly dateOf: (localSeconds: string) => string
  /** A text in the order of its bytes, whatever that of the database is. */
  readonly inByteOrder: (text: string) => string
  /** A time of the facts, to compare with the mirror's so that its index is used. */
  readonly asMirroredTime: (time: string) => string
  /** The value at a dotted path within JSON, as text; null for an object or a list. */
  readonly jsonText: (json: string, path: string) => string
  /** The whole number at that path; null if there is none. */
  readonly jsonInteger: (json: string, path: string) => string
  /** The RFC 3339 time at that path; null if there is none. */
  readonly jsonTime: (json: string, path: string) => string
}

/** Beyond these no duration makes sense, and a cast to an integer could fail. */
const largestInteger = '1e15'

const sqlite: SqlDialect = {
  now: "strftime('%Y-%m-%dT%H:%M:%SZ', 'now')",
  epoch: (time) => `cast(strftime('%s', ${time}) as integer)`,
  dateOf: (localSeconds) => `date(${localSeconds}, 'unixepoch')`,
  inByteOrder: (text) => text,
  // Columns of the facts are declared `timestamp`: SQLite compares as numbers where possible.
  asMirroredTime: (time) => `cast(${time} as text)`,
  jsonText: (json, path) => {
    const type = `json_type(${json}, '$.' || ${path})`
    // json_extract() makes numbers of true and false.
    return `case when ${type} in ('true', 'false') then ${type}
      when ${type} not in ('object', 'array') then cast(json_extract(${json}, '$.' || ${path})
      as text) end`
  },
  jsonInteger: (json, path) => {
    const value = `json_extract(${json}, '$.' || ${path})`
    const isNumber = `json_type(${json}, '$.' || ${path}) in ('integer', 'real')`
    return `case when ${isNumber} and abs(${value}) < ${largestInteger} then cast(${value}
      as integer) end`
  },
  jsonTime: (json, path) => {
    const text = `json_extract(${json}, '$.' || ${path})`
    // strftime() accepts more than RFC 3339, and turns 30 February into 2 March.
    const isTime = `${text} glob '[12][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]*'`
    const hasZone = `(${text} glob '*Z' or ${text} glob '*[+-][01][0-9]:[0-5][0-9]')`
    const date = `substr(${text}, 1, 10)`
    const exists = `date(${date}) = ${date} and substr(${text}, 12, 2) < '24'`
    return `case when ${isTime} and ${hasZone} and ${exists} then strftime('%Y-%m-%dT%H:%M:%SZ',
      ${text}) end`
  },
}

/** RFC 3339 with a date that exists: Postgres 15 cannot try a cast, which would fail the query. */
const rfc3339Pattern = [
  '^[12][0-9]{3}-',
  '((0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31)',
  'T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]+)?(Z|[+-](0[0-9]|1[0-4]):[0-5][0-9])$',
].join('')
const leapDayPattern = rfc3339Pattern
  .replace('[12][0-9]{3}-', '([12][0-9](0[48]|[2468][048]|[13579][26])|(1[26]|2[048])00)-')
  .replace(/\(\(0.*-31\)/, '02-29')

const postgres: SqlDialect = {
  now: "date_trunc('second', now())",
  epoch: (time) => `cast(floor(extract(epoch from ${time})) as bigint)`,
  dateOf: (localSeconds) => `cast(to_timestamp(${localSeconds}) at time zone 'UTC' as date)`,
  inByteOrder: (text) => `${text} collate "C"`,
  asMirroredTime: (time) => time,
  jsonText: (json, path) => {
    const keys = `string_to_array(${path}, '.')`
    return `case when jsonb_typeof(${json} #> ${keys}) not in ('object', 'array')
      then ${json} #>> ${keys} end`
  },
  jsonInteger: (json, path) => {
    const keys = `string_to_array(${path}, '.')`
    const value = `cast(${json} #>> ${keys} as double precision)`
    const integer = `case when abs(${value}) < ${largestInteger} then cast(trunc(${value})
      as bigint) end`
    return `case when jsonb_typeof(${json} #> ${keys}) = 'number' then ${integer} end`
  },
  jsonTime: (json, path) => {
    const text = `${json} #>> string_to_array(${path}, '.')`
    const isTime = `(${text}) ~ '${rfc3339Pattern}|${leapDayPattern}'`
    // Of more digits than it stores, Postgres rounds the last one, perhaps up to the next second.
    const wholeSeconds = `regexp_replace(${text}, '\\.[0-9]+', '')`
    return `case when ${isTime} then cast(${wholeSeconds} as timestamptz) end`
  },
}

export const sqlDialects: Readonly<Record<DatabaseKind, SqlDialect>> = { sqlite, postgres }

/** Seconds since 1970 plus the offset of the project's zone at that time. */
export function localSeconds(sql: SqlDialect, project: string, time: string): string {
  return `${sql.epoch(time)} + (
    select z.offset_s from zone_offsets z
    where z.project_id = ${project} and z.from_s <= ${sql.epoch(time)}
    order by z.from_s desc limit 1)`
}
