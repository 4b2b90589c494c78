/** Reads one conversation or visitor again with its children, and compares them with the mirror. */
import { createHash } from 'node:crypto'
import { describeRejectedRow, type MirrorRow } from '../../../schema/row.ts'
import type { StreamName } from '../../../schema/stream-specs.ts'
import { isNotFound, unreadableRowReason } from '../../service/core/api-failure.ts'
import type { ApiGet } from '../../service/core/api-request.ts'
import { listOnlyFields, toListShape } from '../../service/core/list-shape.ts'
import { isSameId } from '../../service/core/path-segment.ts'
import { stringifyJson } from '../../values/json.ts'
import type { ProjectId } from '../../values/project.ts'
import type { EpochMs, EpochSeconds } from '../../values/time.ts'
import type { AuditedStream } from '../core/audit.ts'
import type { SeenDifference } from '../core/audit-store.ts'
import type { RowKey } from '../core/mirror.ts'
import { decodeProfile, isHasMoreKnownUnreliable } from '../core/pagination/paging-profile.ts'
import type { Difference } from '../core/reports.ts'
import type { Mirror } from '../sql/mirror.ts'
import { listStreams } from '../streams/list-streams.ts'
import { messages } from '../streams/messages.ts'
import type { ChildListStream } from '../streams/stream.ts'
import { visitorActivity } from '../streams/visitor-activity.ts'
import { readList } from '../sync/list-reader.ts'
import { isBeforeStartDate, isStoredBeforeStartDate, streamRange } from '../sync/start-date.ts'
import { throwIfAborted } from '../sync/stop.ts'
import { differingFields } from './comparison.ts'
import { childKey } from './verify.ts'

export type CompareDeps = {
  readonly projectId: ProjectId
  /** The streams that the project mirrors: children of others are not compared. */
  readonly streams: ReadonlySet<StreamName>
  readonly startDate: EpochSeconds | null
  readonly get: ApiGet
  readonly mirror: Pick<Mirror, 'readRows' | 'readRawById' | 'readBehaviours'>
  readonly now: () => EpochMs
  readonly signal: AbortSignal
}

const childOf: Readonly<Record<AuditedStream, ChildListStream>> = { conversations: messages, visitors: visitorActivity }

/** The stream whose rows belong to the rows of an audited one, if the project mirrors it. */
export function auditedChild(stream: AuditedStream, mirrored: ReadonlySet<StreamName>): ChildListStream | null {
  return mirrored.has(childOf[stream].name) ? childOf[stream] : null
}

export type ParentComparison =
  /** The service answered 404 for a row that the mirror has not marked as deleted. */
  | { readonly kind: 'gone' }
  /** Its answer is not a row of this project. */
  | { readonly kind: 'unreadable' }
  | {
      readonly kind: 'compared'
      readonly differences: readonly SeenDifference[]
      /** Null: they are not mirrored. */
      readonly children: ComparedChildren | null
    }

/**
 * `rows`: those that are missing here or different, as the service has them. `incomplete`: why not all of them could be
 * read; null = all were.
 */
type ComparedChildren = {
  readonly compared: number
  readonly incomplete: string | null
  readonly rows: readonly MirrorRow[]
  readonly requestedAt: EpochMs
}

/**
 * Compares with what is stored before the requests are sent: a sync that stores a later copy meanwhile makes a difference
 * that the second comparison does not find again. Throws ApiError.
 */
export async function compareParent(deps: CompareDeps, stream: AuditedStream, id: string): Promise<ParentComparison> {
  const stored = (await deps.mirror.readRawById(stream, [id])).get(id)
  const child = stored === undefined ? null : auditedChild(stream, deps.streams)
  const here = child === null ? new Map<string, string>() : await readChildren(deps, child, id)
  const read = await readParent(deps, stream, id, stored)
  // A row that is marked as deleted: the service should not have it. Its children are read when it is restored.
  if (read === null && stored === undefined) return { kind: 'compared', differences: [], children: null }
  if (read === null) return { kind: 'gone' }
  if (typeof read !== 'string') return read
  const own = compareRow(stream, id, stored, read, 'both')
  if (child === null) return { kind: 'compared', differences: own, children: null }
  const found = await compareChildren(deps, child, id, here)
  return { kind: 'compared', differences: [...own, ...found.differences], children: found.children }
}

/** The row as the service has it, in the shape of the stored one; null: it does not have it. */
async function readParent(
  { get, projectId, mirror }: CompareDeps,
  stream: AuditedStream,
  id: string,
  stored: string | undefined,
): Promise<string | null | Extract<ParentComparison, { kind: 'unreadable' }>> {
  const list = listStreams[stream]
  const response = await get(list.rowPath(projectId, id), {}, 'reconcile').catch((error) => {
    if (isNotFound(error)) return null
    if (unreadableRowReason(error) !== null) return 'unreadable' as const
    throw error
  })
  if (response === null) return null
  if (response === 'unreadable') return { kind: response }
  // The list's shape has all stored fields, so an answer without the row would look like the row.
  const own = list.parseRows([response.data], projectId).rows[0]
  if (own === undefined || !isSameId(String(own.columns.id), id)) return { kind: 'unreadable' }
  const listOnly = listOnlyFields(await mirror.readBehaviours(), stream)
  const [row] = list.parseRows([toListShape(stored, response.data, listOnly)], projectId).rows
  return row === undefined ? { kind: 'unreadable' } : stringifyJson(row.item)
}

async function compareChildren(
  deps: CompareDeps,
  child: ChildListStream,
  id: string,
  here: ReadonlyMap<string, string>,
): Promise<{ readonly differences: readonly SeenDifference[]; readonly children: ComparedChildren }> {
  const requestedAt = deps.now()
  const { rows: there, incomplete } = await readServedChildren(deps, child, id)
  const differences: SeenDifference[] = []
  const rows: MirrorRow[] = []
  for (const [key, row] of there) {
    const found = compareRow(child.name, key, here.get(key), stringifyJson(row.item))
    if (found.length > 0) rows.push(row)
    differences.push(...found)
  }
  // If the service did not list all of them, the others may still exist.
  const missing = incomplete === null ? [...here].filter(([key]) => !there.has(key)) : []
  for (const [key, raw] of missing) differences.push(seen(child.name, key, 'gone there', [], raw))
  return { differences, children: { compared: there.size + missing.length, incomplete, rows, requestedAt } }
}

async function readServedChildren(deps: CompareDeps, child: ChildListStream, id: string) {
  const list = child.list(deps.projectId, id)
  const rows = new Map<string, MirrorRow>()
  let duplicateCounts = new Map<string, number>()
  const incompleteReasons: string[] = []
  const behaviours = await deps.mirror.readBehaviours()
  const scan = {
    list,
    profile: decodeProfile(list, behaviours),
    ranges: [streamRange(deps, child.name)],
    priority: 'reconcile',
    isHasMoreReliableIfEmpty: !isHasMoreKnownUnreliable(behaviours),
  } as const
  for await (const batch of readList(deps.get, scan)) {
    const parsed = child.parseRows(batch.items, id, { project: deps.projectId, duplicateCounts })
    if (batch.isLastOfResponse) duplicateCounts = new Map()
    for (const { reason } of batch.missedRanges) incompleteReasons.push(reason)
    for (const row of [...batch.rejectedRows, ...parsed.rejectedRows]) incompleteReasons.push(describeRejectedRow(row))
    for (const row of parsed.rows) if (!isBeforeStartDate(deps, row)) rows.set(childKey(child, row), row)
    throwIfAborted(deps.signal)
  }
  return { rows, incomplete: incompleteReasons[0] ?? null }
}

async function readChildren(deps: CompareDeps, child: ChildListStream, id: string): Promise<Map<string, string>> {
  const { mirror } = deps
  const found = new Map<string, string>()
  for (let after: RowKey | null = null; ; ) {
    const rows: Awaited<ReturnType<Mirror['readRows']>> = await mirror.readRows(child.name, after, 500, id)
    for (const { key, raw } of rows) if (!isStoredBeforeStartDate(deps, child, id, raw)) found.set(key.join('/'), raw)
    after = rows.at(-1)?.key ?? null
    if (after === null) return found
  }
}

function compareRow(stream: StreamName, key: string, here: string | undefined, there: string, of?: 'both') {
  if (here === undefined) return [seen(stream, key, 'missing here', [], null)]
  const fields = differingFields(here, there, of)
  return fields.length === 0 ? [] : [seen(stream, key, 'different', fields, here)]
}

function seen(
  stream: StreamName,
  key: string,
  kind: Difference['kind'],
  fields: readonly string[],
  stored: string | null,
): SeenDifference {
  return { stream, key, kind, fields, storedHash: stored === null ? null : storedHashOf(stored) }
}

export function storedHashOf(raw: string): string {
  return createHash('sha256').update(raw).digest('hex').slice(0, 16)
}
