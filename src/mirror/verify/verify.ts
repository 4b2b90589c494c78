/** Compares the mirror with the service, row by row. Changes neither. */

import { describeRejectedRow, type MirrorRow } from '../../../schema/row.ts'
import { type StreamName, streamSpecs } from '../../../schema/stream-specs.ts'
import { ApiError, isNotFound, unreadableRowReason } from '../../service/core/api-failure.ts'
import { pathSegmentProblem } from '../../service/core/path-segment.ts'
import { asJsonObject, type Json, stringifyJson } from '../../values/json.ts'
import type { ListEndpoint } from '../core/pagination/list-endpoint.ts'
import type { TimeRange } from '../core/pagination/pending-ranges.ts'
import type { SyncProgress } from '../core/reports.ts'
import type { Mirror } from '../sql/mirror.ts'
import { allStreams } from '../streams/all-streams.ts'
import type { ChildListStream, ChildObjectStream, ListStream, Stream } from '../streams/stream.ts'
import { readList } from '../sync/list-reader.ts'
import { mapInOrder } from '../sync/map-in-order.ts'
import { isBeforeStartDate, isStoredBeforeStartDate, streamRange } from '../sync/start-date.ts'
import { throwIfAborted } from '../sync/stop.ts'
import { compareDays, type DayDeps, readStoredRows, readsAtOnce } from './compare-days.ts'
import { type Comparison, createComparison, type VerifyResult } from './comparison.ts'

type VerifyDeps = DayDeps & {
  readonly streams: ReadonlySet<StreamName>
  readonly mirror: DayDeps['mirror'] & Pick<Mirror, 'readStreamStatuses' | 'readErased'>
  /** How many differences are listed; all are counted. */
  readonly limit: number
  readonly onProgress: (progress: SyncProgress) => void
}

type Verification = VerifyDeps & { readonly comparison: Comparison }

/**
 * Streams whose scope the key lacks are skipped, and one that cannot be read to its end is incomplete. Throws ApiError if
 * the key is denied, if it is stopped, or if no stream could be read.
 */
export async function runVerify(deps: VerifyDeps): Promise<VerifyResult> {
  const comparison = createComparison(deps)
  const streams = allStreams.filter(({ name, kind }) => deps.streams.has(name) && kind !== 'snapshot')
  const statuses = await deps.mirror.readStreamStatuses(streams.map(({ name }) => name))
  const failures: unknown[] = []
  for (const stream of streams) {
    if (statuses.get(stream.name) !== 'complete') comparison.incomplete(stream.name, neverRead)
    try {
      await compareStream({ ...deps, comparison, get: comparison.counting(stream.name) }, stream)
      comparison.close(stream.name)
    } catch (error) {
      const scope = missingScope(error, stream)
      if (scope !== null) comparison.skip(stream.name, scope)
      else if (!isOfStream(error)) throw error
      else {
        failures.push(error)
        comparison.incomplete(stream.name, error.message)
      }
    }
  }
  if (failures.length === streams.length && failures.length > 0) throw failures[0]
  return comparison.result()
}

/** A sync may still find rows that are missing here and were not compared. */
export const neverRead = 'no sync has read it to its end yet'

/** The other streams may still be readable. */
function isOfStream(error: unknown): error is ApiError {
  return error instanceof ApiError && (error.failure.kind === 'refused' || error.failure.kind === 'transient')
}

/** The scope that a denied call lacked: the stream's own if the response does not name it. Null for other errors. */
export function missingScope(error: unknown, stream: Stream): string | null {
  if (!(error instanceof ApiError) || error.failure.kind !== 'denied') return null
  const { scope, code } = error.failure
  return scope ?? (code === 'api_key_scope_missing' ? stream.scope : null)
}

function compareStream(deps: Verification, stream: Stream): Promise<void> {
  switch (stream.kind) {
    case 'list':
      return compareList(deps, stream)
    case 'child-list':
      return compareChildLists(deps, stream)
    case 'child-object':
      return compareChildObjects(deps, stream)
    case 'daily':
      return compareDays(deps, stream)
    case 'snapshot':
      return Promise.resolve()
  }
}

async function compareList(deps: Verification, stream: ListStream): Promise<void> {
  const seen = new Set<string>()
  const start = streamRange(deps, stream.name)
  const onMissed = (why: string) => deps.comparison.incomplete(stream.name, why)
  for await (const { items } of readListItems(deps, stream.list(deps.projectId), start, onMissed)) {
    const parsed = stream.parseRows(items, deps.projectId)
    for (const row of parsed.rejectedRows) onMissed(describeRejectedRow(row))
    const kept = await withoutErased(deps, parsed.rows)
    const rows = kept.map((row) => [String(row.columns.id), stringifyJson(row.item)] as const)
    const fresh = new Map(rows.filter(([id]) => !seen.has(id)))
    const here = await deps.mirror.readRawById(stream.name, [...fresh.keys()])
    for (const [id, raw] of fresh) {
      seen.add(id)
      deps.comparison.row(stream.name, id, here.get(id), raw)
    }
  }
  for await (const { key, raw } of readStoredRows(deps, stream.name)) {
    const id = key.join('/')
    if (!seen.has(id) && pathSegmentProblem(id) === null) await compareUnlisted(deps, stream, id, raw)
  }
}

/** Without the rows of people who were erased here: they are not missing, though the service may still show them. */
async function withoutErased({ mirror }: VerifyDeps, rows: readonly MirrorRow[]): Promise<readonly MirrorRow[]> {
  const erased = await mirror.readErased(rows.flatMap(namedIds))
  return erased.size === 0 ? rows : rows.filter((row) => !namedIds(row).some((id) => erased.has(id)))
}

/** Of the row, its visitor and its conversation. */
function namedIds({ columns, item }: MirrorRow): readonly string[] {
  const fields = asJsonObject(item)
  const ids = [columns.id, fields?.visitorId, fields?.conversationId]
  return ids.flatMap((id) => (typeof id === 'string' ? id.toLowerCase() : []))
}

/** A row that the list did not show counts as gone only if a read by its id confirms it. */
async function compareUnlisted(deps: Verification, stream: ListStream, id: string, raw: string): Promise<void> {
  const request = nullIfNotFound(deps.get(stream.rowPath(deps.projectId, id), {}, 'reconcile'))
  const response = await request.catch((error) => {
    const why = unreadableRowReason(error)
    if (why === null) throw error
    return { why }
  })
  if (response === null) return deps.comparison.gone(stream.name, id)
  if ('why' in response) return deps.comparison.incomplete(stream.name, response.why)
  const [there] = stream.parseRows([response.data], deps.projectId).rows
  if (there === undefined) deps.comparison.incomplete(stream.name, unreadableText(id))
  else deps.comparison.row(stream.name, id, raw, stringifyJson(there.item), 'both')
}

/** The service answered something that is not a row. */
export function unreadableText(id: string): string {
  return `the answer for ${id.slice(0, 60)} is not a row of this project`
}

async function compareChildLists(deps: Verification, stream: ChildListStream): Promise<void> {
  const start = streamRange(deps, stream.name)
  const compareParent = async (parent: string) => {
    const there = new Map<string, string>()
    let isComplete = true
    const onMissed = (why: string) => {
      isComplete = false
      deps.comparison.incomplete(stream.name, why)
    }
    try {
      let duplicateCounts = new Map<string, number>()
      for await (const batch of readListItems(deps, stream.list(deps.projectId, parent), start, onMissed)) {
        const parsed = stream.parseRows(batch.items, parent, { project: deps.projectId, duplicateCounts })
        if (batch.isLastOfResponse) duplicateCounts = new Map()
        for (const row of parsed.rejectedRows) onMissed(describeRejectedRow(row))
        const rows = parsed.rows.filter((row) => !isBeforeStartDate(deps, row))
        for (const row of rows) there.set(childKey(stream, row), stringifyJson(row.item))
      }
    } catch (error) {
      const why = unreadableRowReason(error)
      if (why === null) throw error
      if (!isNotFound(error)) onMissed(why)
    }
    const here = new Map<string, string>()
    for await (const { key, raw } of readStoredRows(deps, stream.name, parent))
      if (!isStoredBeforeStartDate(deps, stream, parent, raw)) here.set(key.join('/'), raw)
    return () => {
      for (const [id, raw] of there) deps.comparison.row(stream.name, id, here.get(id), raw)
      // If the service did not list all of them, the others may still exist.
      if (isComplete) for (const id of here.keys()) if (!there.has(id)) deps.comparison.gone(stream.name, id)
    }
  }
  for await (const report of mapInOrder(readParents(deps, stream), readsAtOnce, compareParent)) report()
}

const childKeys = { messages: ['conversation_id', 'id'], visitor_activity: ['visitor_id', 'entry_hash', 'ordinal'] }

export function childKey({ name }: ChildListStream, row: MirrorRow): string {
  return childKeys[name].map((column) => String(row.columns[column])).join('/')
}

async function compareChildObjects(deps: Verification, stream: ChildObjectStream): Promise<void> {
  const compareParent = async (parent: string) => {
    try {
      const response = await nullIfNotFound(deps.get(stream.path(parent), {}, 'reconcile'))
      const there = stringifyJson(response === null ? {} : asJsonObject(response.data))
      const here = (await deps.mirror.readRawById(stream.name, [parent])).get(parent)
      return () => deps.comparison.row(stream.name, parent, here, there)
    } catch (error) {
      const why = unreadableRowReason(error)
      if (why === null) throw error
      return () => deps.comparison.incomplete(stream.name, why)
    }
  }
  for await (const report of mapInOrder(readParents(deps, stream), readsAtOnce, compareParent)) report()
}

/** `onMissed`: not every row of the list could be read. */
async function* readListItems(
  deps: VerifyDeps,
  list: ListEndpoint,
  start: TimeRange,
  onMissed: (why: string) => void,
): AsyncGenerator<{ readonly items: readonly Json[]; readonly isLastOfResponse: boolean }> {
  const scan = { list, profile: null, ranges: [start], priority: 'reconcile' } as const
  for await (const { items, isLastOfResponse, missedRanges, rejectedRows } of readList(deps.get, scan)) {
    for (const { reason } of missedRanges) onMissed(reason)
    for (const row of rejectedRows) onMissed(describeRejectedRow(row))
    yield { items, isLastOfResponse }
    throwIfAborted(deps.signal)
  }
}

/** The ids of a child stream's parents that a path can contain. */
async function* readParents(deps: VerifyDeps, { name }: ChildListStream | ChildObjectStream): AsyncGenerator<string> {
  for await (const { key } of readStoredRows(deps, streamSpecs[name].parent)) {
    const parent = key[0] ?? ''
    if (pathSegmentProblem(parent) === null) yield parent
  }
}

function nullIfNotFound<T>(response: Promise<T>): Promise<T | null> {
  return response.catch((error) => {
    if (isNotFound(error)) return null
    throw error
  })
}
