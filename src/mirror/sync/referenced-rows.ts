/**
 * Reads the rows that a webhook delivery refers to by their ids from the service; nothing of the delivery itself is
 * mirrored. If it contains no usable ids, an incremental sync of the lists is needed.
 */

import { childStreamsOf } from '../../../schema/stream-specs.ts'
import { ApiError, isRefused } from '../../service/core/api-failure.ts'
import { idIdentity } from '../../service/core/path-segment.ts'
import { type MirroredRow, parseWebhook } from '../core/webhook-reference.ts'
import { listStreams } from '../streams/list-streams.ts'
import type { ListStream } from '../streams/stream.ts'
import { mapConcurrently } from './map-concurrently.ts'
import { type RereadDeps, rereadByIds } from './missing-rows.ts'
import type { SyncRun } from './run.ts'

export type WebhookDeps = RereadDeps & {
  readonly streams: SyncRun['streams']
  /** Those that are mirrored, by the identity of their ids. */
  readonly locateRows: (ids: readonly string[]) => Promise<ReadonlyMap<string, MirroredRow>>
  /** The outcomes by stream and id that earlier deliveries of this batch already had. Mutable. */
  readonly outcomes: Map<string, RowOutcome>
}

type RowOutcome = 'read' | 'gone' | 'refused'

/** `found`: a summary for users. `needsListSync`: an incremental sync of the lists is needed. */
type WebhookResult = { readonly found: string; readonly needsListSync: boolean }

const concurrency = 8

/** Throws ApiError if the service does not answer or denies the key. */
export async function syncReferencedRows(deps: WebhookDeps, body: string): Promise<WebhookResult> {
  const { references, why } = parseWebhook(body)
  const ids = references.map(({ id }) => id)
  const mirrored = ids.length === 0 ? null : await deps.locateRows(ids)
  // The mirror decides about an id's letters and table; the names in the payload are only hints.
  const located = references.map((reference) => mirrored?.get(idIdentity(reference.id)) ?? reference)
  const byTable = Map.groupBy(located, ({ table }) => table)
  const found: string[] = []
  for (const stream of Object.values(listStreams)) {
    const ofStream = (byTable.get(stream.name) ?? []).map(({ id }) => id)
    if (ofStream.length === 0 || !deps.streams.has(stream.name)) continue
    found.push(`${stream.name}: ${formatCounts(await rereadRows(deps, stream, ofStream))}`)
  }
  if (found.length === 0) return { needsListSync: true, found: `lists, as ${why ?? 'none of its ids is known'}` }
  return { needsListSync: false, found: found.join('; ') }
}

async function rereadRows(deps: WebhookDeps, stream: ListStream, ids: readonly string[]): Promise<RowOutcome[]> {
  return mapConcurrently(ids, concurrency, async (id) => {
    const name = `${stream.name}/${id}`
    const outcome = deps.outcomes.get(name) ?? (await rereadRow(deps, stream, id))
    deps.outcomes.set(name, outcome)
    return outcome
  })
}

async function rereadRow(deps: WebhookDeps, stream: ListStream, id: string): Promise<RowOutcome> {
  try {
    const [row = null] = await rereadByIds(deps, stream, [id], 'fresh')
    if (row === null) return 'gone'
    // A message or a recording may be new although its parent's row is unchanged.
    for (const child of childStreamsOf(stream.name)) await deps.mirror.markChildrenPending(child, [id], deps.now())
    return 'read'
  } catch (error) {
    if (isRefused(error) || isForbidden(error)) return 'refused'
    throw error
  }
}

/** A missing scope or an id of another project, which does not mean that the key itself is denied. */
function isForbidden(error: unknown): boolean {
  return error instanceof ApiError && error.failure.kind === 'denied' && error.failure.status === 403
}

/** `2 read, 1 gone`. */
function formatCounts(outcomes: readonly RowOutcome[]): string {
  const sizes = [...Map.groupBy(outcomes, (it) => it)].map(([outcome, all]) => `${all.length} ${outcome}`)
  return sizes.sort().join(', ')
}
