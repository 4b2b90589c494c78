/**
 * What a webhook delivery hints at is read again, by its ids, from the service itself: nothing of the delivery goes into
 * the mirror. Where it does not tell, the lists will.
 */
import { ApiError } from '../core/api-failure.ts'
import { type ChildStreamName, parentStreams } from '../core/mirror.ts'
import { parseWebhook, type ReferencedTable, type WebhookReference } from '../core/webhook-reference.ts'
import { listStreams } from '../streams/catalog.ts'
import type { ListStream } from '../streams/stream.ts'
import type { SyncRun } from './deps.ts'
import { mapConcurrently } from './map-concurrently.ts'
import { type RereadDeps, rereadByIds } from './missing-rows.ts'
import { isRefused } from './stop.ts'

export type WebhookDeps = RereadDeps & {
  readonly streams: SyncRun['streams']
  /** Which of these ids the mirror knows, and where. */
  readonly locateRows: (ids: readonly string[]) => Promise<ReadonlyMap<string, ReferencedTable>>
  /** What has been read already for the deliveries of this portion. Grows. */
  readonly outcomes: Map<string, RowOutcome>
}

type RowOutcome = 'read' | 'gone' | 'refused'

/** `found`: for a person. `lists`: an incremental pass over the lists is needed. */
export type WebhookResult = { readonly found: string; readonly lists: boolean }

const concurrency = 8

/** Throws CallFailed where the service does not answer, or knows the key no more. */
export async function syncReferencedRows(deps: WebhookDeps, body: string): Promise<WebhookResult> {
  const { references: ids, why } = parseWebhook(body)
  const idsByTable = await groupByTable(deps, ids)
  if (idsByTable.size === 0) return { lists: true, found: `lists, as ${why ?? 'none of its ids is known'}` }
  const found: string[] = []
  for (const stream of listStreams) {
    const own = idsByTable.get(stream.name) ?? []
    if (own.length > 0) found.push(`${stream.name}: ${formatCounts(await rereadRows(deps, stream, own))}`)
  }
  return { lists: false, found: found.join('; ') }
}

/** By the table that has them; what the mirror knows is surer than a name. */
async function groupByTable(
  deps: WebhookDeps,
  ids: readonly WebhookReference[],
): Promise<Map<ReferencedTable, string[]>> {
  const known = ids.length === 0 ? new Map<string, ReferencedTable>() : await deps.locateRows(ids.map(({ id }) => id))
  const idsByTable = new Map<ReferencedTable, string[]>()
  for (const { id, table: named } of ids) {
    const kind = known.get(id) ?? named
    if (kind !== null && deps.streams.has(kind)) idsByTable.set(kind, [...(idsByTable.get(kind) ?? []), id])
  }
  return idsByTable
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
    const [read] = await rereadByIds(deps, stream, [id], 'fresh')
    if (read === undefined || read.row === null) return 'gone'
    // A message or a recording may be new although the row above it looks as before.
    const children = (Object.keys(parentStreams) as ChildStreamName[]).filter((it) => parentStreams[it] === stream.name)
    for (const child of children) await deps.mirror.markChildrenPending(child, [id], deps.now())
    return 'read'
  } catch (error) {
    if (isRefused(error) || isForbidden(error)) return 'refused'
    throw error
  }
}

/** A missing scope, or an id of another project: that is no news about the key, which the next pass will try anyway. */
function isForbidden(error: unknown): boolean {
  return error instanceof ApiError && error.failure.kind === 'denied' && error.failure.status === 403
}

/** `2 read, 1 gone`. */
function formatCounts(outcomes: readonly RowOutcome[]): string {
  const sizes = [...Map.groupBy(outcomes, (it) => it)].map(([outcome, all]) => `${all.length} ${outcome}`)
  return sizes.sort().join(', ')
}
