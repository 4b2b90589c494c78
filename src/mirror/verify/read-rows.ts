/**
 * The rows of a stream, or of a parent, as the mirror has them, and as the service has them now.
 */
import { describeRejectedRow, type MirrorRow } from '../../../schema/row.ts'
import type { StreamName } from '../../../schema/stream-specs.ts'
import { throwIfAborted } from '../../service/core/api-failure.ts'
import { parseJson } from '../../values/json.ts'
import type { ProjectId } from '../../values/project.ts'
import type { EpochMs } from '../../values/time.ts'
import type { RowKey } from '../core/mirror.ts'
import type { MirrorGet } from '../core/mirror-get.ts'
import { isLimited, isMirrored, type RangeSettings, streamRange } from '../core/mirrored-range.ts'
import type { ListEndpoint } from '../core/pagination/paging-profile.ts'
import type { RangesToRead } from '../core/pagination/reading-state.ts'
import type { ChildListStream } from '../core/stream-kinds.ts'
import type { Mirror } from '../sql/mirror.ts'
import { streamTables } from '../sql/stream-tables.ts'
import { readList } from '../sync/pages.ts'

/** What every comparison needs. */
export type CompareDeps = RangeSettings & {
  readonly projectId: ProjectId
  /** The streams that the project mirrors, or that are to be compared. */
  readonly streams: ReadonlySet<StreamName>
  readonly get: MirrorGet
  readonly mirror: Pick<Mirror, 'readRows' | 'readRawById' | 'readBehaviours' | 'findWrongColumns'>
  readonly now: () => EpochMs
  readonly signal: AbortSignal
}

/** All mirrored rows of a stream, or of one of its parents, in key order. */
export async function* readStoredRows(
  { mirror, signal }: Pick<CompareDeps, 'mirror' | 'signal'>,
  stream: StreamName,
  parent: string | null = null,
) {
  for (let after: RowKey | null = null; ; ) {
    const rows: Awaited<ReturnType<Mirror['readRows']>> = await mirror.readRows(
      stream,
      after,
      500,
      parent,
    )
    for (const row of rows) {
      throwIfAborted(signal)
      yield row
    }
    after = rows.at(-1)?.key ?? null
    if (after === null) return
  }
}

/** Without those that the service is not asked for, by their keys. */
export async function readStoredChildren(
  deps: CompareDeps,
  child: ChildListStream,
  parent: string,
) {
  const found = new Map<string, string>()
  const isExpected = (raw: string) => {
    if (!isLimited(deps, child.name)) return true
    const [row] = child.parseRows([parseJson(raw)], parent).rows
    return row === undefined || isMirrored(deps, child.name, row)
  }
  for await (const { key, raw } of readStoredRows(deps, child.name, parent))
    if (isExpected(raw)) found.set(key.join('/'), raw)
  return found
}

/** What is known of how the service pages; by default nothing. */
type Learned = Pick<RangesToRead, 'profile' | 'isHasMoreReliableIfEmpty'>

/** `onMissed`: not every row of the list could be read. */
export async function* readServedItems(
  deps: CompareDeps,
  stream: StreamName,
  list: ListEndpoint,
  onMissed: (why: string) => void,
  learned: Learned = { profile: null },
) {
  const scan = {
    list,
    ranges: [streamRange(deps, stream)],
    priority: 'reconcile',
    ...learned,
  } as const
  for await (const batch of readList((...request) => deps.get(stream, ...request), scan)) {
    const { items, isLastOfResponse, missedRanges, rejectedRows, profile } = batch
    for (const { reason } of missedRanges) onMissed(reason)
    for (const row of rejectedRows) onMissed(describeRejectedRow(row))
    yield { items, isLastOfResponse, profile }
    throwIfAborted(deps.signal)
  }
}

/**
 * By their keys. `incomplete`: why not all of them could be read; null = all were. `setsHasMore`:
 * whether the list did so on any page.
 */
export async function readServedChildren(
  deps: CompareDeps,
  child: ChildListStream,
  parent: string,
  learned?: Learned,
) {
  const rows = new Map<string, MirrorRow>()
  let incomplete: string | null = null
  let setsHasMore = false
  const onMissed = (why: string) => {
    incomplete ??= why
  }
  let duplicateCounts = new Map<string, number>()
  const list = child.list(deps.projectId, parent)
  for await (const { items, isLastOfResponse, profile } of readServedItems(
    deps,
    child.name,
    list,
    onMissed,
    learned,
  )) {
    const parsed = child.parseRows(items, parent, { project: deps.projectId, duplicateCounts })
    if (isLastOfResponse) duplicateCounts = new Map()
    setsHasMore ||= profile.setsHasMore
    for (const row of parsed.rejectedRows) onMissed(describeRejectedRow(row))
    for (const row of parsed.rows)
      if (isMirrored(deps, child.name, row)) rows.set(childKey(child, row), row)
  }
  return { rows, incomplete: incomplete as string | null, setsHasMore }
}

function childKey({ name }: ChildListStream, { columns }: MirrorRow): string {
  return streamTables[name].key.map((column) => String(columns[column])).join('/')
}
