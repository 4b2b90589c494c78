/** Exports objects of the warehouse: all of them from one state of it, all of them or none. */

import { parseDate } from '../analytics/core/report-period.ts'
import { nearestNames } from '../values/nearest-names.ts'
import type { ProjectId } from '../values/project.ts'
import { parseTime, rfc3339 } from '../values/time.ts'
import { UserError } from '../values/user-error.ts'
import type {
  ExportColumn,
  ExportCondition,
  ExportedObject,
  ExportFormat,
  ExportObject,
  ExportProgress,
  ExportSelection,
  ExportSnapshot,
  ExportType,
  ObjectName,
  RowWriter,
} from './core/export.ts'
import { type Destination, type DestinationOptions, openDestination } from './destination.ts'

export type ExportRequest = RowRequest &
  DestinationOptions & {
    /** Names, or patterns such as `fct_*`. */
    readonly objects: readonly string[]
  }

type ExportDeps = {
  readonly snapshot: ExportSnapshot
  /** Whether to count the rows of tables first, for an estimate. */
  readonly countFirst: boolean
  readonly onProgress: (progress: ExportProgress) => void
  readonly signal: AbortSignal
}

/** Throws UserError; then nothing is left behind, except on standard output. */
export async function exportObjects(
  request: ExportRequest,
  deps: ExportDeps,
): Promise<{ readonly format: ExportFormat; readonly objects: readonly ExportedObject[] }> {
  const { snapshot } = deps
  const selections: ExportSelection[] = []
  for (const object of findObjects(request.objects, await snapshot.listObjects())) {
    selections.push(selectRows(await snapshot.describe(object), request))
  }
  const destination = await openDestination(selections, request)
  try {
    const rowCounts = await writeAll(selections, destination, deps)
    const files = await destination.publish()
    return {
      format: request.format,
      objects: selections.map((selection, n) => toReport(selection, rowCounts[n], files[n])),
    }
  } catch (error) {
    await destination.discard()
    throw deps.signal.aborted ? interruptedError() : error
  }
}

async function writeAll(
  selections: readonly ExportSelection[],
  destination: Destination,
  deps: ExportDeps,
): Promise<readonly number[]> {
  const rowCounts: number[] = []
  for (const selection of selections)
    rowCounts.push(await writeRows(selection, await destination.open(selection), deps))
  return rowCounts
}

/** Returns how many. */
async function writeRows(selection: ExportSelection, writer: RowWriter, deps: ExportDeps): Promise<number> {
  const { name, kind } = selection.object
  // Counting the rows of a view takes as long as reading them.
  const total = deps.countFirst && kind === 'table' ? await deps.snapshot.countRows(selection) : null
  let rows = 0
  for await (const batch of deps.snapshot.readRows(selection)) {
    if (deps.signal.aborted) throw interruptedError()
    await writer.write(batch)
    rows += batch.length
    deps.onProgress({ object: name, rows, total })
  }
  await writer.end()
  return rows
}

function interruptedError(): UserError {
  return new UserError({
    what: 'the export was interrupted',
    why: 'it was asked to stop',
    next: 'run it again: no file was written, and what went to standard output is incomplete',
    exitCode: 1,
  })
}

function toReport(
  { object, conditions }: ExportSelection,
  rows = 0,
  { file, bytes }: { readonly file: string | null; readonly bytes: number | null } = { file: null, bytes: null },
): ExportedObject {
  const bound = conditions.find(({ operator }) => operator !== '=')
  return { object: object.name, kind: object.kind, rows, file, bytes, timeColumn: bound?.column.name ?? null }
}

/** In the order of the names, each object once. Throws UserError. */
export function findObjects(names: readonly string[], existing: readonly ObjectName[]): readonly ObjectName[] {
  return [
    ...new Set(names.flatMap((name) => (name.includes('*') ? matchAll(name, existing) : [findOne(name, existing)]))),
  ]
}

function findOne(name: string, existing: readonly ObjectName[]): ObjectName {
  const found = existing.find((object) => object.name === name)
  if (found === undefined) throw unknownObject(name, existing)
  return found
}

/** The state of deskmirror itself, which is exported only by its exact name. */
const internalName = /^(sync_|_)/

function matchAll(pattern: string, existing: readonly ObjectName[]): readonly ObjectName[] {
  const matching = existing.filter(({ name }) => matchesPattern(name, pattern) && !internalName.test(name))
  if (matching.length === 0) throw unknownObject(pattern, existing)
  return matching
}

/** `*` stands for any characters. */
function matchesPattern(name: string, pattern: string): boolean {
  const [start = '', ...parts] = pattern.split('*')
  const end = parts.pop() ?? ''
  if (!name.startsWith(start) || !name.endsWith(end) || name.length < start.length + end.length) return false
  let rest = name.slice(start.length, name.length - end.length)
  for (const part of parts) {
    const at = rest.indexOf(part)
    if (at < 0) return false
    rest = rest.slice(at + part.length)
  }
  return true
}

function unknownObject(name: string, existing: readonly ObjectName[]): UserError {
  const names = existing.map((object) => object.name)
  const nearest = nearestNames(name.replaceAll('*', ''), names)
  const shown = nearest.length > 0 ? nearest : names.filter((existingName) => !internalName.test(existingName))
  return new UserError({
    what: `cannot export ${name}`,
    why: 'the warehouse has no table or view of that name',
    next: `${nearest.length > 0 ? 'perhaps' : 'choose from'} ${shown.join(', ')}`,
    exitCode: 2,
  })
}

/** Null or empty: not limited by it. */
type RowRequest = {
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

/** Throws UserError if the object lacks a column, or a value does not fit its column. */
function selectRows(object: ExportObject, request: RowRequest): ExportSelection {
  const columns =
    request.columns.length === 0 ? object.columns : request.columns.map((name) => findColumn(object, name))
  return {
    object,
    columns,
    conditions: [
      ...projectCondition(object, request.projectId),
      ...timeConditions(object, request),
      ...request.where.map(({ column, value }) => equalTo(object, findColumn(object, column), value)),
    ],
  }
}

/** Objects without the column belong to no project, and are exported whole. */
function projectCondition({ columns }: ExportObject, projectId: ProjectId | null): readonly ExportCondition[] {
  const column = columns.find(({ name }) => name === 'project_id')
  return projectId === null || column === undefined ? [] : [{ column, operator: '=', value: projectId }]
}

function timeConditions(object: ExportObject, request: RowRequest): readonly ExportCondition[] {
  if (request.since === null && request.until === null) return []
  const column = request.timeColumn === null ? usualTimeColumn(object) : findColumn(object, request.timeColumn)
  if (column === undefined || (column.type !== 'time' && column.type !== 'date')) {
    const why = column === undefined ? 'it has no column with a time' : `${column.name} is not a time or a date`
    throw selectionError(object, why, 'leave out --since and --until, or name a column with --time-column')
  }
  const bounds = [['>=', request.since] as const, ['<', request.until] as const]
  return bounds.flatMap(([operator, text]) =>
    text === null ? [] : [{ column, operator, value: toBound(object, column, text) }],
  )
}

/** When deskmirror itself did something; never what an analyst means. */
const ownTimes: readonly string[] = ['synced_at', 'deleted_at']

/** `created_at`, or else the first time or date. */
function usualTimeColumn({ columns }: ExportObject): ExportColumn | undefined {
  const times = columns.filter(({ name, type }) => (type === 'time' || type === 'date') && !ownTimes.includes(name))
  return times.find(({ name }) => name === 'created_at') ?? times[0]
}

function toBound(object: ExportObject, column: ExportColumn, text: string): string {
  const isDate = parseDate(text) !== undefined
  if (column.type === 'date') {
    if (isDate) return text
    throw selectionError(object, `${column.name} is a date, and ${text} is not`, 'write a date like 2026-01-31')
  }
  const time = parseExistingTime(isDate ? `${text}T00:00:00Z` : text)
  if (time !== undefined) return time
  throw selectionError(object, `${text} is neither a date nor a time`, 'write 2026-01-31 or 2026-01-31T08:00:00Z')
}

/** Undefined for 30 February, too, which JavaScript takes for a day in March. */
function parseExistingTime(text: string): string | undefined {
  const at = parseDate(text.slice(0, 10)) === undefined ? undefined : parseTime(text)
  return at === undefined ? undefined : rfc3339(at)
}

function parseInteger(text: string): bigint | undefined {
  const value = /^-?\d{1,19}$/.test(text) ? BigInt(text) : undefined
  return value !== undefined && BigInt.asIntN(64, value) === value ? value : undefined
}

function equalTo(object: ExportObject, column: ExportColumn, text: string | null): ExportCondition {
  const value = text === null ? null : parsers[column.type](text)
  if (value !== undefined) return { column, operator: '=', value }
  const why = `${column.name} is ${typeNames[column.type]}, and ${text} is not`
  throw selectionError(object, why, 'write --where COLUMN=VALUE with a value of that type')
}

const typeNames: Readonly<Record<ExportType, string>> = {
  text: 'a text',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  time: 'a time',
  date: 'a date',
  json: 'JSON, which cannot be compared',
}

/** Undefined: the text is not a value of the type. */
const parsers: Readonly<Record<ExportType, (text: string) => string | number | bigint | boolean | undefined>> = {
  text: (text) => text,
  integer: parseInteger,
  number: (text) => (text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : undefined),
  boolean: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
  time: parseExistingTime,
  date: parseDate,
  json: () => undefined,
}

function findColumn(object: ExportObject, name: string): ExportColumn {
  const column = object.columns.find((existing) => existing.name === name)
  if (column !== undefined) return column
  const names = object.columns.map((existing) => existing.name)
  const nearest = nearestNames(name, names)
  const next = nearest.length > 0 ? `perhaps ${nearest.join(', ')}` : `choose from ${names.join(', ')}`
  throw selectionError(object, `it has no column ${name}`, next)
}

function selectionError({ name }: ExportObject, why: string, next: string): UserError {
  return new UserError({ what: `cannot export ${name}`, why, next, exitCode: 2 })
}
