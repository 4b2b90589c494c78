/** Compares the mirror with the service, row by row. Reads both, changes neither. */

import { readList } from '../api/list-reader.ts'
import { ApiError } from '../core/api-failure.ts'
import type { ApiGet } from '../core/api-request.ts'
import { stringifyJson } from '../core/json.ts'
import { parentStreams } from '../core/mirror.ts'
import type { ListEndpoint } from '../core/pagination/list-endpoint.ts'
import { allTime, type TimeRange } from '../core/pagination/pending-ranges.ts'
import { pathSegmentProblem } from '../core/path-segment.ts'
import type { Difference, SyncProgress, VerifyReport } from '../core/report.ts'
import type { Json, MirrorRow, StreamName } from '../core/row.ts'
import type { Seconds } from '../core/time.ts'
import { allStreams } from '../streams/catalog.ts'
import { asJsonObject } from '../streams/item.ts'
import type { ChildListStream, ChildObjectStream, DailyStream, ListStream, Stream } from '../streams/stream.ts'
import { isBeforeStartDate } from '../sync/start-date.ts'
import { isNotFound, throwIfAborted } from '../sync/stop.ts'
import { differingFields } from './differences.ts'

export type VerifyDeps = {
  readonly projectId: string
  readonly streams: ReadonlySet<StreamName>
  readonly startDate: Seconds | null
  readonly get: ApiGet
  readonly mirror: StoredRows
  /** How many differences are listed; all are counted. */
  readonly limit: number
  readonly signal: AbortSignal
  readonly onProgress: (progress: SyncProgress) => void
}

/** The mirror, read back: living rows as JSON text, by key (without the project). */
export type StoredRows = {
  readonly readRows: (
    stream: StreamName,
    after: readonly string[] | null,
    limit: number,
    parent?: string | null,
  ) => Promise<readonly { readonly key: readonly string[]; readonly raw: string }[]>
  readonly rawOf: (stream: StreamName, ids: readonly string[]) => Promise<ReadonlyMap<string, string>>
}

export type VerifyResult = Omit<VerifyReport, 'project' | 'requests'>

/** Throws CallFailed, but for a missing scope: then the stream is not compared. */
export async function runVerify(deps: VerifyDeps): Promise<VerifyResult> {
  const comparison = createComparison(deps)
  for (const stream of allStreams) {
    if (!deps.streams.has(stream.name) || stream.kind === 'moment') continue
    try {
      await compareStream({ ...deps, get: comparison.counting(stream.name) }, stream, comparison)
      comparison.close(stream.name)
    } catch (error) {
      const scope = missingScope(error, stream)
      if (scope === null) throw error
      comparison.skip(stream.name, scope)
    }
  }
  return comparison.result()
}

/** The scope that a denied call lacked, by the stream's own account where the message does not name it. */
function missingScope(error: unknown, stream: Stream): string | null {
  if (!(error instanceof ApiError) || error.failure.kind !== 'denied') return null
  const { scope, code } = error.failure
  return scope ?? (code === 'api_key_scope_missing' ? stream.scope : null)
}

type Comparison = ReturnType<typeof createComparison>

function createComparison({ get, limit, onProgress }: VerifyDeps) {
  const counts = new Map<
    StreamName,
    { compared: number; differing: number; requests: number; skipped: string | null }
  >()
  const differences: Difference[] = []
  const count = (stream: StreamName) => {
    const known = counts.get(stream) ?? { compared: 0, differing: 0, requests: 0, skipped: null }
    counts.set(stream, known)
    return known
  }
  const reportProgress = (stream: StreamName, state: SyncProgress['state']) => {
    const { compared, differing, requests } = count(stream)
    onProgress({ stream, state, rows: compared, changed: differing, requests, left: null })
  }
  const recordDifference = (difference: Difference) => {
    count(difference.stream).differing += 1
    if (differences.length < limit) differences.push(difference)
  }
  return {
    counting: (stream: StreamName): ApiGet => {
      return (path, query, lane) => {
        count(stream).requests += 1
        reportProgress(stream, 'running')
        return get(path, query, lane)
      }
    },
    /** One row of the service beside ours; `here` undefined: we have none. */
    row: (stream: StreamName, key: string, here: string | undefined, there: string, of?: 'both') => {
      count(stream).compared += 1
      if (here === undefined) return recordDifference({ stream, key, kind: 'missing here', fields: [] })
      const fields = differingFields(here, there, of)
      if (fields.length > 0) recordDifference({ stream, key, kind: 'different', fields })
    },
    gone: (stream: StreamName, key: string) => recordDifference({ stream, key, kind: 'gone there', fields: [] }),
    close: (stream: StreamName) => reportProgress(stream, 'done'),
    skip: (stream: StreamName, scope: string) => {
      count(stream).skipped = scope
      reportProgress(stream, 'skipped')
    },
    result: (): VerifyResult => ({
      streams: [...counts].map(([stream, { compared, differing, skipped }]) => ({
        stream,
        compared,
        differing,
        skipped,
      })),
      differences,
      truncated: [...counts.values()].reduce((sum, { differing }) => sum + differing, 0) > differences.length,
    }),
  }
}

function compareStream(deps: VerifyDeps, stream: Stream, comparison: Comparison): Promise<void> {
  switch (stream.kind) {
    case 'list':
      return compareList(deps, stream, comparison)
    case 'branch':
      return compareChildLists(deps, stream, comparison)
    case 'leaf':
      return compareChildObjects(deps, stream, comparison)
    case 'daily':
      return compareDays(deps, stream, comparison)
    case 'moment':
      return Promise.resolve()
  }
}

async function compareList(deps: VerifyDeps, stream: ListStream, comparison: Comparison): Promise<void> {
  const seen = new Set<string>()
  const start = stream.name === 'calls' ? { ...allTime, lo: deps.startDate ?? 0 } : allTime
  for await (const items of readListItems(deps, stream.list(deps.projectId), start)) {
    const rows = stream.parseRows(items, deps.projectId).rows.map((row) => [String(row.columns.id), row.raw] as const)
    const fresh = new Map(rows.filter(([id]) => !seen.has(id)))
    const here = await deps.mirror.rawOf(stream.name, [...fresh.keys()])
    for (const [id, raw] of fresh) {
      seen.add(id)
      comparison.row(stream.name, id, here.get(id), raw)
    }
  }
  for await (const { key, raw } of readStoredRows(deps, stream.name)) {
    const id = key.join('/')
    if (!seen.has(id) && pathSegmentProblem(id) === null) await compareUnlisted(deps, stream, { id, raw }, comparison)
  }
}

/** A row that the list did not show: the service is asked for it by id before it is called gone. */
async function compareUnlisted(
  deps: VerifyDeps,
  stream: ListStream,
  { id, raw }: { readonly id: string; readonly raw: string },
  comparison: Comparison,
): Promise<void> {
  const answer = await nullIfNotFound(deps.get(stream.rowPath(deps.projectId, id), {}, 'verify'))
  const there = answer === null ? undefined : stream.parseRows([answer.data], deps.projectId).rows[0]?.raw
  if (there === undefined) comparison.gone(stream.name, id)
  else comparison.row(stream.name, id, raw, there, 'both')
}

async function compareChildLists(deps: VerifyDeps, stream: ChildListStream, comparison: Comparison): Promise<void> {
  const start = stream.name === 'visitor_activity' ? { ...allTime, lo: deps.startDate ?? 0 } : allTime
  for await (const { key } of readStoredRows(deps, parentStreams[stream.name])) {
    const parent = key[0] ?? ''
    if (pathSegmentProblem(parent) !== null) continue
    const there = new Map<string, string>()
    try {
      for await (const items of readListItems(deps, stream.list(deps.projectId, parent), start)) {
        const rows = stream.parseRows(items, parent).rows.filter((row) => !isBeforeStartDate(deps, row))
        for (const row of rows) there.set(childKey(stream, row), row.raw)
      }
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
    const here = new Map<string, string>()
    for await (const row of readStoredRows(deps, stream.name, parent)) here.set(row.key.join('/'), row.raw)
    for (const [id, raw] of there) comparison.row(stream.name, id, here.get(id), raw)
    for (const id of here.keys()) if (!there.has(id)) comparison.gone(stream.name, id)
  }
}

const childKeys = { messages: ['conversation_id', 'id'], visitor_activity: ['visitor_id', 'entry_hash', 'ordinal'] }

function childKey({ name }: ChildListStream, row: MirrorRow): string {
  return childKeys[name].map((column) => String(row.columns[column])).join('/')
}

async function compareChildObjects(deps: VerifyDeps, stream: ChildObjectStream, comparison: Comparison): Promise<void> {
  for await (const { key } of readStoredRows(deps, parentStreams[stream.name])) {
    const parent = key[0] ?? ''
    if (pathSegmentProblem(parent) !== null) continue
    const answer = await nullIfNotFound(deps.get(stream.path(parent), {}, 'verify'))
    const there = stringifyJson(answer === null ? {} : asJsonObject(answer.data))
    comparison.row(stream.name, parent, (await deps.mirror.rawOf(stream.name, [parent])).get(parent), there)
  }
}

async function compareDays(deps: VerifyDeps, stream: DailyStream, comparison: Comparison): Promise<void> {
  for await (const { key, raw } of readStoredRows(deps, stream.name)) {
    const [from, to] = key
    const { data } = await deps.get(stream.path(deps.projectId), { from, to }, 'verify')
    comparison.row(stream.name, key.join('/'), raw, stringifyJson(data))
  }
}

async function* readListItems(deps: VerifyDeps, list: ListEndpoint, start: TimeRange): AsyncGenerator<readonly Json[]> {
  for await (const { items } of readList(deps.get, { list, profile: null, ranges: [start], priority: 'verify' })) {
    yield items
    throwIfAborted(deps.signal)
  }
}

/** All living rows of a stream (under one parent), in key order. */
async function* readStoredRows({ mirror, signal }: VerifyDeps, stream: StreamName, parent: string | null = null) {
  for (let after: readonly string[] | null = null; ; ) {
    const rows: Awaited<ReturnType<StoredRows['readRows']>> = await mirror.readRows(stream, after, 500, parent)
    for (const row of rows) {
      throwIfAborted(signal)
      yield row
    }
    after = rows.at(-1)?.key ?? null
    if (after === null) return
  }
}

function nullIfNotFound<T>(answer: Promise<T>): Promise<T | null> {
  return answer.catch((error) => {
    if (isNotFound(error)) return null
    throw error
  })
}
