/** Reads one conversation or visitor again with its children, and compares them with the mirror. */
import { createHash } from 'node:crypto'
import type { MirrorRow } from '../../../schema/row.ts'
import { type StreamName, streamSpecs } from '../../../schema/stream-specs.ts'
import { isNotFound, unreadableRowReason } from '../../service/core/api-failure.ts'
import { isSameId } from '../../service/core/path-segment.ts'
import { listOnlyFields, toListShape } from '../../service/core/row-by-id-shape.ts'
import { stringifyJson } from '../../values/json.ts'
import type { EpochMs } from '../../values/time.ts'
import type { AuditedStream, Difference, SeenDifference } from '../core/audit.ts'
import type { MirrorCommit } from '../core/mirror.ts'
import { streamRange } from '../core/mirrored-range.ts'
import { decodeProfile, isHasMoreKnownUnreliable } from '../core/pagination/paging-profile.ts'
import type { ChildListStream, Stream } from '../core/stream-kinds.ts'
import { allStreams, listStreams } from '../core/streams.ts'
import { childKeyOf } from '../sql/encode-rows.ts'
import { wrongColumns } from './compare-columns.ts'
import { findChildDifferences, findDifference } from './comparison.ts'
import { type CompareDeps, readServedChildren, readStoredChildren } from './read-rows.ts'

/** The stream whose rows belong to the rows of an audited one, if the project mirrors it. */
export function auditedChild(
  stream: AuditedStream,
  mirrored: ReadonlySet<StreamName>,
): ChildListStream | null {
  for (const child of allStreams) {
    if (child.kind !== 'child-list' || !mirrored.has(child.name)) continue
    const { audited, parent } = streamSpecs[child.name]
    if (audited === 'with parents' && parent === stream) return child
  }
  return null
}

export type ParentResult =
  | {
      readonly kind: 'compared'
      readonly differences: readonly SeenDifference[]
      /** Rows that are missing here or different, as the service has them, and what it lacks. */
      readonly corrections: readonly MirrorCommit[]
      /** Null: they are not mirrored, or the parent is not here. */
      readonly children: {
        readonly compared: number
        /** Why not all of them could be read; null = all were. */
        readonly incomplete: string | null
      } | null
    }
  | { readonly kind: 'gone' }
  | { readonly kind: 'unreadable' }

/**
 * Compares with what is stored before the requests are sent: a later copy that a sync stores
 * meanwhile is a difference that the second comparison does not find. `gone`: 404 for a row that is
 * not marked as deleted. `unreadable`: no row of this project. Children are compared if their stream
 * is among `streams`. Throws ApiError.
 */
export async function compareParent(
  deps: CompareDeps,
  stream: AuditedStream,
  id: string,
): Promise<ParentResult> {
  const stored = (await deps.mirror.readRawById(stream, [id])).get(id)
  const child = stored === undefined ? null : auditedChild(stream, deps.streams)
  const here =
    child === null ? new Map<string, string>() : await readStoredChildren(deps, child, id)
  const behaviours = await deps.mirror.readBehaviours()
  const served = await readParent(deps, stream, id, stored, listOnlyFields(behaviours, stream))
  // Marked as deleted: the service should not have it. Children are read when it is restored.
  if (served === 'gone' && stored === undefined)
    return { kind: 'compared', differences: [], corrections: [], children: null }
  if (typeof served === 'string') return { kind: served }
  const { row, requestedAt } = served
  const ofRow = findDifference(stream, id, stored, stringifyJson(row.item), 'both')
  const wrong = await wrongColumnsByKey(deps, listStreams[stream], id)
  const differences = seenDifferences(ofRow ?? wrong.get(id) ?? null, stored)
  const corrections = differences.length === 0 ? [] : [correctionOf(stream, [row], requestedAt)]
  if (child === null) return { kind: 'compared', differences, corrections, children: null }
  const childrenRequestedAt = deps.now()
  const there = await readServedChildren(deps, child, id, {
    profile: decodeProfile(child.list(deps.projectId, id), behaviours),
    isHasMoreReliableIfEmpty: !isHasMoreKnownUnreliable(behaviours),
  })
  const found = new Map(
    findChildDifferences(child.name, here, there).map((difference) => [difference.key, difference]),
  )
  for (const [key, difference] of await wrongColumnsByKey(deps, child, id))
    if (there.rows.has(key) && !found.has(key)) found.set(key, difference)
  const rows = [...found.keys()].flatMap((key) => there.rows.get(key) ?? [])
  const missing = found.size - rows.length
  if (found.size > 0) {
    const correction = correctionOf(child.name, rows, childrenRequestedAt)
    const keys = new Set(
      [...there.rows.values()].map((childRow) => childKeyOf(child.name, childRow)),
    )
    const { lo: from } = streamRange(deps, child.name)
    // Corrections are stored only if a second comparison found the same.
    const listed = {
      parentId: id,
      keys,
      since: childrenRequestedAt,
      from,
      isSecond: true,
      isConfirmed: false,
    }
    corrections.push(missing === 0 ? correction : { ...correction, listed })
  }
  for (const [key, difference] of found)
    differences.push(...seenDifferences(difference, here.get(key)))
  const children = { compared: there.rows.size + missing, incomplete: there.incomplete }
  return { kind: 'compared', differences, corrections, children }
}

/** Of rows whose key begins with the id: even a row that equals the service's may have some. */
async function wrongColumnsByKey(deps: CompareDeps, stream: Stream, id: string) {
  const found = new Map<string, Difference>()
  for await (const difference of wrongColumns(deps, stream, id))
    found.set(difference.key, difference)
  return found
}

/** In the shape of the stored row. `listOnly`: fields that only the list shows. */
async function readParent(
  { get, projectId }: CompareDeps,
  stream: AuditedStream,
  id: string,
  stored: string | undefined,
  listOnly: ReturnType<typeof listOnlyFields>,
): Promise<{ readonly row: MirrorRow; readonly requestedAt: EpochMs } | 'gone' | 'unreadable'> {
  const list = listStreams[stream]
  const response = await get(stream, list.rowPath(projectId, id), {}, 'reconcile').catch(
    (error) => {
      if (isNotFound(error)) return 'gone' as const
      if (unreadableRowReason(error) !== null) return 'unreadable' as const
      throw error
    },
  )
  if (typeof response === 'string') return response
  // The list's shape has all stored fields, so an answer without the row would look like the row.
  const own = list.parseRows([response.data], projectId).rows[0]
  if (own === undefined || !isSameId(String(own.columns.id), id)) return 'unreadable'
  const [row] = list.parseRows([toListShape(stored, response.data, listOnly)], projectId).rows
  return row === undefined ? 'unreadable' : { row, requestedAt: response.requestedAt }
}

function correctionOf(
  stream: StreamName,
  rows: readonly MirrorRow[],
  requestedAt: EpochMs,
): MirrorCommit {
  return { stream, rows, requestedAt, isAuthoritative: true }
}

function seenDifferences(found: Difference | null, stored: string | undefined): SeenDifference[] {
  return found === null
    ? []
    : [{ ...found, storedHash: stored === undefined ? null : storedHashOf(stored) }]
}

export function storedHashOf(raw: string): string {
  return createHash('sha256').update(raw).digest('hex').slice(0, 16)
}
