/** Compares the mirror with the service, row by row. Changes neither. */
import { describeRejectedRow, type MirrorRow } from '../../../schema/row.ts'
import { streamSpecs } from '../../../schema/stream-specs.ts'
import {
  ApiError,
  missingScope,
  nullIfNotFound,
  unreadableRowReason,
} from '../../service/core/api-failure.ts'
import { pathSegmentProblem } from '../../service/core/path-segment.ts'
import { localDaysBetween } from '../../values/days.ts'
import { asJsonObject, stringifyJson } from '../../values/json.ts'
import { type EpochSeconds, parseTime, rfc3339 } from '../../values/time.ts'
import { emptyProfile } from '../core/pagination/paging-profile.ts'
import type {
  ChildListStream,
  ChildObjectStream,
  DailyStream,
  ListStream,
  Stream,
} from '../core/stream-kinds.ts'
import { allStreams } from '../core/streams.ts'
import type { Mirror } from '../sql/mirror.ts'
import { mapInOrder } from '../sync/concurrency.ts'
import { fetchDay, unreadableDayReason } from '../sync/rollup-days.ts'
import {
  type ComparisonOptions,
  createComparison,
  findChildDifferences,
  findDifference,
  goneThere,
  type RowComparison,
} from './comparison.ts'
import {
  type CompareDeps,
  readServedChildren,
  readServedItems,
  readStoredChildren,
  readStoredRows,
} from './read-rows.ts'

export type VerifyDeps = CompareDeps &
  ComparisonOptions & {
    readonly timeZone: string
    /** The present day ends the comparison. */
    readonly present: EpochSeconds
    readonly mirror: Pick<Mirror, 'earliestTime' | 'readStreamStatuses' | 'findErasedRows'>
  }

type Verification = VerifyDeps & { readonly comparison: RowComparison }

/** One at a time uses a part of the allowance where a response takes over a tenth of a second. */
const readsAtOnce = 16

/**
 * Without streams whose scope the key lacks; one that cannot be read to its end is incomplete.
 * Throws ApiError if the key is denied, if it is stopped, or if no stream could be read.
 */
export async function runVerify(deps: VerifyDeps, comparison = createComparison(deps)) {
  const streams = allStreams.filter(
    ({ name, kind }) => deps.streams.has(name) && kind !== 'snapshot',
  )
  const statuses = await deps.mirror.readStreamStatuses(streams.map(({ name }) => name))
  const failures: unknown[] = []
  for (const stream of streams) {
    if (statuses.get(stream.name) !== 'complete') comparison.incomplete(stream.name, neverRead)
    try {
      await compareStream({ ...deps, comparison, get: comparison.counting(stream.name) }, stream)
      comparison.close(stream.name)
    } catch (error) {
      const scope = missingScope(error, stream.scope)
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
  return (
    error instanceof ApiError &&
    (error.failure.kind === 'refused' || error.failure.kind === 'transient')
  )
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
  const onMissed = (why: string) => deps.comparison.incomplete(stream.name, why)
  for await (const { items } of readServedItems(
    deps,
    stream.name,
    stream.list(deps.projectId),
    onMissed,
  )) {
    const parsed = stream.parseRows(items, deps.projectId)
    for (const row of parsed.rejectedRows) onMissed(describeRejectedRow(row))
    const kept = await withoutErased(deps, stream, parsed.rows)
    const rows = kept.map((row) => [String(row.columns.id), stringifyJson(row.item)] as const)
    const fresh = new Map(rows.filter(([id]) => !seen.has(id)))
    const here = await deps.mirror.readRawById(stream.name, [...fresh.keys()])
    for (const id of fresh.keys()) seen.add(id)
    const found = [...fresh].map(([id, raw]) => findDifference(stream.name, id, here.get(id), raw))
    deps.comparison.add(stream.name, fresh.size, found)
  }
  for await (const { key, raw } of readStoredRows(deps, stream.name)) {
    const id = key.join('/')
    if (!seen.has(id) && pathSegmentProblem(id) === null)
      await compareUnlisted(deps, stream, id, raw)
  }
}

/** Rows of erased people are not missing, though the service may still show them. */
async function withoutErased(
  { mirror }: VerifyDeps,
  stream: ListStream,
  rows: readonly MirrorRow[],
) {
  const erased = await mirror.findErasedRows(stream.name, rows)
  return erased.size === 0 ? rows : rows.filter((row) => !erased.has(row))
}

/** A row that the list did not show counts as gone only if a read by its id confirms it. */
async function compareUnlisted(
  deps: Verification,
  stream: ListStream,
  id: string,
  raw: string,
): Promise<void> {
  const request = nullIfNotFound(
    deps.get(stream.name, stream.rowPath(deps.projectId, id), {}, 'reconcile'),
  )
  const response = await request.catch((error) => {
    const why = unreadableRowReason(error)
    if (why === null) throw error
    return { why }
  })
  if (response === null) return deps.comparison.add(stream.name, 0, [goneThere(stream.name, id)])
  if ('why' in response) return deps.comparison.incomplete(stream.name, response.why)
  const [there] = stream.parseRows([response.data], deps.projectId).rows
  if (there === undefined) return deps.comparison.incomplete(stream.name, unreadableText(id))
  const found = findDifference(stream.name, id, raw, stringifyJson(there.item), 'both')
  deps.comparison.add(stream.name, 1, [found])
}

/** The service answered something that is not a row. */
export function unreadableText(id: string): string {
  return `the answer for ${id.slice(0, 60)} is not a row of this project`
}

/** `read` reports what it compares of one parent or day; what cannot be read is reported, too. */
async function compareEach(
  { comparison }: Verification,
  { name }: Stream,
  parents: Iterable<string> | AsyncIterable<string>,
  compare: (parent: string) => Promise<() => void>,
  unreadableReason: (error: unknown) => string | null = unreadableRowReason,
): Promise<void> {
  const attempt = (parent: string) =>
    compare(parent).catch((error: unknown) => {
      const why = unreadableReason(error)
      if (why === null) throw error
      return () => comparison.incomplete(name, why)
    })
  for await (const report of mapInOrder(parents, readsAtOnce, attempt)) report()
}

/** The ids of a child stream's parents that a path can contain. */
async function* readParents(
  deps: VerifyDeps,
  { name }: ChildListStream | ChildObjectStream,
): AsyncGenerator<string> {
  for await (const { key } of readStoredRows(deps, streamSpecs[name].parent)) {
    const parent = key[0] ?? ''
    if (pathSegmentProblem(parent) === null) yield parent
  }
}

function compareChildLists(deps: Verification, stream: ChildListStream): Promise<void> {
  const { comparison } = deps
  // Nothing that a sync has learned, as a wrong part of it would be wrong here, too.
  let setsHasMore = false
  return compareEach(deps, stream, readParents(deps, stream), async (parent) => {
    const noRows = { rows: new Map<string, MirrorRow>(), incomplete: null, setsHasMore }
    const profile = { ...emptyProfile(stream.list(deps.projectId, parent)), setsHasMore }
    const served = readServedChildren(deps, stream, parent, { profile })
    const there = (await nullIfNotFound(served)) ?? noRows
    setsHasMore ||= there.setsHasMore
    const here = await readStoredChildren(deps, stream, parent)
    return () => {
      if (there.incomplete !== null) comparison.incomplete(stream.name, there.incomplete)
      const found = findChildDifferences(stream.name, here, there)
      comparison.add(stream.name, there.rows.size, found)
    }
  })
}

function compareChildObjects(deps: Verification, stream: ChildObjectStream): Promise<void> {
  return compareEach(deps, stream, readParents(deps, stream), async (parent) => {
    const response = await nullIfNotFound(
      deps.get(stream.name, stream.path(parent), {}, 'reconcile'),
    )
    const there = stringifyJson(response === null ? {} : asJsonObject(response.data))
    const here = (await deps.mirror.readRawById(stream.name, [parent])).get(parent)
    const found = findDifference(stream.name, parent, here, there)
    return () => deps.comparison.add(stream.name, 1, [found])
  })
}

/** Compares the daily rollups: those that are stored, and the days that should be. */
async function compareDays(deps: Verification, stream: DailyStream): Promise<void> {
  const stored = new Map<string, string>()
  for await (const { key, raw } of readStoredRows(deps, stream.name)) stored.set(key.join('/'), raw)
  const windows = new Set([...stored.keys(), ...(await expectedWindows(deps))])
  const compareDay = async (window: string) => {
    const [from = 0, to = 0] = window.split('/').map((time) => parseTime(time))
    const { data } = await fetchDay(deps, stream, { from, to }, 'reconcile', deps.present)
    const found = findDifference(stream.name, window, stored.get(window), stringifyJson(data))
    return () => deps.comparison.add(stream.name, 1, [found])
  }
  await compareEach(deps, stream, windows, compareDay, unreadableDayReason)
}

/** Every day from the start date, or from the first mirrored row, until today. */
async function expectedWindows({
  mirror,
  startDate,
  timeZone,
  present,
}: VerifyDeps): Promise<string[]> {
  const from = startDate ?? (await mirror.earliestTime())
  if (from === null || from > present) return []
  return localDaysBetween(from, present, timeZone).map(
    (day) => `${rfc3339(day.from)}/${rfc3339(day.to)}`,
  )
}
