/**
 * What an export reads and reports: objects, by name or pattern, and their columns and rows. Pure.
 */

import type { columnTypes } from '../../../schema/column-types.ts'
import { parseDate } from '../../analytics/core/report-period.ts'
import { nearestNames } from '../../values/nearest-names.ts'
import type { ProjectId } from '../../values/project.ts'
import { type Ms, normalizeTime } from '../../values/time.ts'
import { UserError } from '../../values/user-error.ts'
import type { ExportFormat } from './formats.ts'

/** The types of exported columns; all key and text columns are `text`. */
export type ExportType = (typeof columnTypes)[keyof typeof columnTypes]['exported']

/**
 * The same for both databases. `time`: `YYYY-MM-DDThh:mm:ssZ`; `date`: `YYYY-MM-DD`; `json`:
 * canonical JSON text; an integer beyond 2^53 is a bigint.
 */
export type ExportValue = string | number | bigint | boolean | null
/** Values in the order of the columns. */
export type ExportRow = readonly ExportValue[]

export type ExportColumn = { readonly name: string; readonly type: ExportType }
export type ObjectName = { readonly name: string; readonly kind: 'table' | 'view' }
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

/** Where the rows of one object go. */
export type RowWriter = {
  readonly write: (rows: readonly ExportRow[]) => Promise<void>
  /** Writes what is left. Call it once, after all rows. */
  readonly end: () => Promise<void>
}

/** Resolves when more may be written. */
export type ByteOutput = { readonly write: (bytes: Uint8Array) => Promise<void> }

/** `total`: null = not counted. */
export type ExportProgress = {
  readonly object: string
  readonly rows: number
  readonly total: number | null
}

export type ExportedObject = {
  readonly object: string
  readonly kind: 'table' | 'view'
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

/** The state of deskmirror itself, which is exported only by its exact name. */
const internalName = /^(sync_|_)/

/** In the order of the names, each once. `*` stands for any characters. Throws UserError. */
export function findObjects(
  names: readonly string[],
  existing: readonly ObjectName[],
): readonly ObjectName[] {
  const found = names.flatMap((name) => {
    const isIncluded = (object: ObjectName) =>
      object.name === name || !internalName.test(object.name)
    const matching = existing.filter(
      (object) => matchesPattern(object.name, name) && isIncluded(object),
    )
    if (matching.length === 0) throw unknownObject(name, existing)
    return matching
  })
  return [...new Set(found)]
}

function matchesPattern(name: string, pattern: string): boolean {
  const [start = '', ...parts] = pattern.split('*')
  const end = parts.pop()
  if (end === undefined) return name === pattern
  let at = start.length
  for (const part of parts) {
    const found = name.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return name.startsWith(start) && name.endsWith(end) && name.length >= at + end.length
}

function unknownObject(name: string, existing: readonly ObjectName[]): UserError {
  const names = existing.map((object) => object.name)
  const choice = names.filter((known) => !internalName.test(known))
  const next = proposeNames(name.replaceAll('*', ''), names, choice)
  return selectionError({ name }, 'the warehouse has no table or view of that name', next)
}

function proposeNames(name: string, names: readonly string[], choice = names): string {
  const nearest = nearestNames(name, names)
  return nearest.length > 0 ? `perhaps ${nearest.join(', ')}` : `choose from ${choice.join(', ')}`
}

/** Null or empty: not limited by it. */
export type RowRequest = {
  readonly columns: readonly string[]
  readonly projectId: ProjectId | null
  /** A date or an RFC 3339 time; `until` itself is excluded. A date begins at midnight UTC. */
  readonly since: string | null
  readonly until: string | null
  /** The column that they are compared with; null = the object's usual one. */
  readonly timeColumn: string | null
  /** `value` null: the column has no value. */
  readonly where: readonly { readonly column: string; readonly value: string | null }[]
}

export const allRows = { columns: [], since: null, until: null, timeColumn: null, where: [] }

/** Throws UserError if the object lacks a column, or a value does not fit its column. */
export function selectRows(object: ExportObject, request: RowRequest): ExportSelection {
  const { columns, projectId, where } = request
  // Objects without the column belong to no project, and are exported whole.
  const ofProject = projectId !== null && object.columns.some(({ name }) => name === 'project_id')
  const equal = ofProject ? [{ column: 'project_id', value: projectId }, ...where] : where
  return {
    object,
    columns:
      columns.length === 0 ? object.columns : columns.map((name) => findColumn(object, name)),
    conditions: [
      ...equal.map(({ column, value }) => equalTo(object, findColumn(object, column), value)),
      ...timeConditions(object, request),
    ],
  }
}

function timeConditions(
  object: ExportObject,
  { since, until, timeColumn }: RowRequest,
): readonly ExportCondition[] {
  if (since === null && until === null) return []
  const column = timeColumn === null ? usualTimeColumn(object) : findColumn(object, timeColumn)
  if (column === undefined || (column.type !== 'time' && column.type !== 'date')) {
    const why =
      column === undefined
        ? 'it has no column with a time'
        : `${column.name} is not a time or a date`
    throw selectionError(
      object,
      why,
      'leave out --since and --until, or name a column with --time-column',
    )
  }
  const bounds = [['>=', since] as const, ['<', until] as const]
  return bounds.flatMap(([operator, text]) =>
    text === null ? [] : [{ column, operator, value: toBound(object, column, text) }],
  )
}

/** When deskmirror itself did something; never what an analyst means. */
const ownTimes: readonly string[] = ['synced_at', 'deleted_at', 'unchanged_since']

/** Of a version when it began, else `created_at`, or else the first time or date. */
export function usualTimeColumn({ columns }: ExportObject): ExportColumn | undefined {
  const times = columns.filter(
    ({ name, type }) => (type === 'time' || type === 'date') && !ownTimes.includes(name),
  )
  const named = ['valid_from', 'created_at'].map((own) => times.find(({ name }) => name === own))
  return named.find((column) => column !== undefined) ?? times[0]
}

function toBound(object: ExportObject, column: ExportColumn, text: string): string {
  const isDate = parseDate(text) !== undefined
  if (column.type === 'date') {
    if (isDate) return text
    throw selectionError(
      object,
      `${column.name} is a date, and ${text} is not`,
      'write a date like 2026-01-31',
    )
  }
  const time = normalizeTime(isDate ? `${text}T00:00:00Z` : text)
  if (time !== undefined) return time
  throw selectionError(
    object,
    `${text} is neither a date nor a time`,
    'write 2026-01-31 or 2026-01-31T08:00:00Z',
  )
}

/** `parse`: undefined if the text is not a value of the type. */
const valueTypes: Readonly<
  Record<
    ExportType,
    { readonly name: string; readonly parse: (text: string) => ExportValue | undefined }
  >
> = {
  text: { name: 'a text', parse: (text) => text },
  integer: { name: 'an integer', parse: parseInteger },
  number: {
    name: 'a number',
    parse: (text) =>
      text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : undefined,
  },
  boolean: {
    name: 'true or false',
    parse: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
  },
  time: { name: 'a time', parse: normalizeTime },
  date: { name: 'a date', parse: parseDate },
  json: { name: 'JSON, which cannot be compared', parse: () => undefined },
}

function parseInteger(text: string): bigint | undefined {
  const value = /^-?\d{1,19}$/.test(text) ? BigInt(text) : undefined
  return value !== undefined && BigInt.asIntN(64, value) === value ? value : undefined
}

function equalTo(object: ExportObject, column: ExportColumn, text: string | null): ExportCondition {
  const { name, parse } = valueTypes[column.type]
  const value = text === null ? null : parse(text)
  if (value !== undefined) return { column, operator: '=', value }
  const why = `${column.name} is ${name}, and ${text} is not`
  throw selectionError(object, why, 'write --where COLUMN=VALUE with a value of that type')
}

function findColumn(object: ExportObject, name: string): ExportColumn {
  const column = object.columns.find((existing) => existing.name === name)
  if (column !== undefined) return column
  const names = object.columns.map((existing) => existing.name)
  throw selectionError(object, `it has no column ${name}`, proposeNames(name, names))
}

function selectionError(
  { name }: Pick<ExportObject, 'name'>,
  why: string,
  next: string,
): UserError {
  return new UserError({ what: `cannot export ${name}`, why, next })
}
