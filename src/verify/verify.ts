/** Compares the mirror with the service, row by row. Reads both, changes neither. */

import { readList } from '../api/pager.ts'
import type { Get } from '../core/call.ts'
import { CallFailed } from '../core/failure.ts'
import { stringifyJson } from '../core/json.ts'
import { childStreams } from '../core/mirror.ts'
import type { Difference, SyncProgress, VerifyReport } from '../core/report.ts'
import type { Json, MirrorRow, StreamName } from '../core/row.ts'
import { whyNoSegment } from '../core/segment.ts'
import type { Seconds } from '../core/time.ts'
import type { List } from '../core/walk/list.ts'
import { everything, type Range } from '../core/walk/position.ts'
import { catalog } from '../streams/catalog.ts'
import { fieldsOf } from '../streams/row.ts'
import type { BranchStream, DailyStream, LeafStream, ListStream, Stream } from '../streams/stream.ts'
import { isEarlier } from '../sync/start-date.ts'
import { isGone, stopIfAsked } from '../sync/stop.ts'
import { differingFields } from './differences.ts'

export type VerifyDeps = {
  readonly project: string
  readonly streams: ReadonlySet<StreamName>
  readonly startDate: Seconds | null
  readonly get: Get
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

export type Verified = Omit<VerifyReport, 'project' | 'requests'>

/** Throws CallFailed, but for a missing scope: then the stream is not compared. */
export async function verify(deps: VerifyDeps): Promise<Verified> {
  const comparison = createComparison(deps)
  for (const stream of catalog) {
    if (!deps.streams.has(stream.name) || stream.kind === 'moment') continue
    try {
      await compare({ ...deps, get: comparison.counting(stream.name) }, stream, comparison)
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
  if (!(error instanceof CallFailed) || error.failure.kind !== 'denied') return null
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
  const tell = (stream: StreamName, state: SyncProgress['state']) => {
    const { compared, differing, requests } = count(stream)
    onProgress({ stream, state, rows: compared, changed: differing, requests, left: null })
  }
  const differ = (difference: Difference) => {
    count(difference.stream).differing += 1
    if (differences.length < limit) differences.push(difference)
  }
  return {
    counting: (stream: StreamName): Get => {
      return (path, query, lane) => {
        count(stream).requests += 1
        tell(stream, 'running')
        return get(path, query, lane)
      }
    },
    /** One row of the service beside ours; `here` undefined: we have none. */
    row: (stream: StreamName, key: string, here: string | undefined, there: string, of?: 'both') => {
      count(stream).compared += 1
      if (here === undefined) return differ({ stream, key, kind: 'missing here', fields: [] })
      const fields = differingFields(here, there, of)
      if (fields.length > 0) differ({ stream, key, kind: 'different', fields })
    },
    gone: (stream: StreamName, key: string) => differ({ stream, key, kind: 'gone there', fields: [] }),
    close: (stream: StreamName) => tell(stream, 'done'),
    skip: (stream: StreamName, scope: string) => {
      count(stream).skipped = scope
      tell(stream, 'skipped')
    },
    result: (): Verified => ({
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

function compare(deps: VerifyDeps, stream: Stream, comparison: Comparison): Promise<void> {
  switch (stream.kind) {
    case 'list':
      return compareList(deps, stream, comparison)
    case 'branch':
      return compareBranches(deps, stream, comparison)
    case 'leaf':
      return compareLeaves(deps, stream, comparison)
    case 'daily':
      return compareDays(deps, stream, comparison)
    case 'moment':
      return Promise.resolve()
  }
}

async function compareList(deps: VerifyDeps, stream: ListStream, comparison: Comparison): Promise<void> {
  const seen = new Set<string>()
  const start = stream.name === 'calls' ? { ...everything, lo: deps.startDate ?? 0 } : everything
  for await (const items of pages(deps, stream.list(deps.project), start)) {
    const rows = stream.rows(items, deps.project).rows.map((row) => [String(row.columns.id), row.raw] as const)
    const fresh = new Map(rows.filter(([id]) => !seen.has(id)))
    const here = await deps.mirror.rawOf(stream.name, [...fresh.keys()])
    for (const [id, raw] of fresh) {
      seen.add(id)
      comparison.row(stream.name, id, here.get(id), raw)
    }
  }
  for await (const { key, raw } of stored(deps, stream.name)) {
    const id = key.join('/')
    if (!seen.has(id) && whyNoSegment(id) === null) await compareUnlisted(deps, stream, { id, raw }, comparison)
  }
}

/** A row that the list did not show: the service is asked for it by id before it is called gone. */
async function compareUnlisted(
  deps: VerifyDeps,
  stream: ListStream,
  { id, raw }: { readonly id: string; readonly raw: string },
  comparison: Comparison,
): Promise<void> {
  const answer = await orGone(deps.get(stream.one(deps.project, id), {}, 'verify'))
  const there = answer === null ? undefined : stream.rows([answer.data], deps.project).rows[0]?.raw
  if (there === undefined) comparison.gone(stream.name, id)
  else comparison.row(stream.name, id, raw, there, 'both')
}

async function compareBranches(deps: VerifyDeps, stream: BranchStream, comparison: Comparison): Promise<void> {
  const start = stream.name === 'visitor_activity' ? { ...everything, lo: deps.startDate ?? 0 } : everything
  for await (const { key } of stored(deps, childStreams[stream.name])) {
    const parent = key[0] ?? ''
    if (whyNoSegment(parent) !== null) continue
    const there = new Map<string, string>()
    try {
      for await (const items of pages(deps, stream.list(deps.project, parent), start)) {
        const rows = stream.rows(items, parent).rows.filter((row) => !isEarlier(deps, row))
        for (const row of rows) there.set(keyOf(stream, row), row.raw)
      }
    } catch (error) {
      if (!isGone(error)) throw error
    }
    const here = new Map<string, string>()
    for await (const row of stored(deps, stream.name, parent)) here.set(row.key.join('/'), row.raw)
    for (const [id, raw] of there) comparison.row(stream.name, id, here.get(id), raw)
    for (const id of here.keys()) if (!there.has(id)) comparison.gone(stream.name, id)
  }
}

const childKeys = { messages: ['conversation_id', 'id'], visitor_activity: ['visitor_id', 'entry_hash', 'ordinal'] }

function keyOf({ name }: BranchStream, row: MirrorRow): string {
  return childKeys[name].map((column) => String(row.columns[column])).join('/')
}

async function compareLeaves(deps: VerifyDeps, stream: LeafStream, comparison: Comparison): Promise<void> {
  for await (const { key } of stored(deps, childStreams[stream.name])) {
    const parent = key[0] ?? ''
    if (whyNoSegment(parent) !== null) continue
    const answer = await orGone(deps.get(stream.path(parent), {}, 'verify'))
    const there = stringifyJson(answer === null ? {} : fieldsOf(answer.data))
    comparison.row(stream.name, parent, (await deps.mirror.rawOf(stream.name, [parent])).get(parent), there)
  }
}

async function compareDays(deps: VerifyDeps, stream: DailyStream, comparison: Comparison): Promise<void> {
  for await (const { key, raw } of stored(deps, stream.name)) {
    const [from, to] = key
    const { data } = await deps.get(stream.path(deps.project), { from, to }, 'verify')
    comparison.row(stream.name, key.join('/'), raw, stringifyJson(data))
  }
}

async function* pages(deps: VerifyDeps, list: List, start: Range): AsyncGenerator<readonly Json[]> {
  for await (const { items } of readList(deps.get, { list, known: null, ranges: [start], lane: 'verify' })) {
    yield items
    stopIfAsked(deps.signal)
  }
}

/** All living rows of a stream (under one parent), in key order. */
async function* stored({ mirror, signal }: VerifyDeps, stream: StreamName, parent: string | null = null) {
  for (let after: readonly string[] | null = null; ; ) {
    const rows: Awaited<ReturnType<StoredRows['readRows']>> = await mirror.readRows(stream, after, 500, parent)
    for (const row of rows) {
      stopIfAsked(signal)
      yield row
    }
    after = rows.at(-1)?.key ?? null
    if (after === null) return
  }
}

function orGone<T>(answer: Promise<T>): Promise<T | null> {
  return answer.catch((error) => {
    if (isGone(error)) return null
    throw error
  })
}
