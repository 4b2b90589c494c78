/** Samples values of private columns at the service, which must be nowhere in the warehouse. */
import { type StreamName, streamSpecs } from '../../../schema/stream-specs.ts'
import { ApiError, isRefused, throwIfAborted } from '../../service/core/api-failure.ts'
import type { ApiGet, ApiResponse, QueryParams } from '../../service/core/api-request.ts'
import { toItems } from '../../service/envelope.ts'
import { asJsonObject, type Json } from '../../values/json.ts'
import type { ColumnRules, PrivateText } from '../../values/private-columns.ts'
import type { ProjectId } from '../../values/project.ts'
import { daySeconds, rfc3339 } from '../../values/time.ts'
import { toMessageSide } from '../core/message-fields.ts'
import { itemsIn } from '../core/pagination/page-protocol.ts'
import type { Stream } from '../core/stream-kinds.ts'
import { allStreams } from '../core/streams.ts'
import type { Mirror } from '../sql/mirror.ts'

type PrivateSampleDeps = {
  readonly projectId: ProjectId
  /** What it returns is never stored. */
  readonly get: ApiGet
  readonly mirror: Pick<Mirror, 'readRows'>
  readonly rules: ColumnRules
  /** How many parents' children are read, and how many rows of a list. */
  readonly sampleSize: number
  readonly signal: AbortSignal
}

/** `onSkipped`: the service does not let a stream be read. Throws any other ApiError. */
export async function* readPrivateValues(
  deps: PrivateSampleDeps,
  onSkipped: (stream: StreamName, why: string) => void,
): AsyncGenerator<PrivateText> {
  const { rules, signal } = deps
  for (const stream of allStreams) {
    if (rules.describe(stream.name).columns.length === 0) continue
    for await (const response of readAnswers(deps, stream, onSkipped)) {
      throwIfAborted(signal)
      for (const item of rowsOf(stream, response))
        if (!isOwnMessage(stream, item)) yield* rules.valuesOf(stream.name, item)
    }
  }
}

async function* readAnswers(
  { projectId, get, mirror, sampleSize }: PrivateSampleDeps,
  stream: Stream,
  onSkipped: (stream: StreamName, why: string) => void,
): AsyncGenerator<ApiResponse> {
  const { name } = stream
  const read = (path: string, query: QueryParams = {}) =>
    get(path, query, 'reconcile').catch((error: unknown) => {
      const isOfStream = error instanceof ApiError && error.failure.kind === 'denied'
      if (!isRefused(error) && !isOfStream) throw error
      return (error as ApiError).message
    })
  const paths: string[] = []
  if (stream.kind === 'list') paths.push(stream.list(projectId).path)
  else if (stream.kind === 'snapshot' || stream.kind === 'daily') paths.push(stream.path(projectId))
  else {
    const { parent } = streamSpecs[stream.name]
    for (const { key } of await mirror.readRows(parent, null, sampleSize)) {
      const [id = ''] = key
      paths.push(stream.kind === 'child-list' ? stream.list(projectId, id).path : stream.path(id))
    }
  }
  let why: string | null = null
  let isRead = false
  for (const path of paths) {
    const answer = await read(path, queryOf(stream, sampleSize))
    if (typeof answer === 'string') why ??= answer
    else {
      isRead = true
      yield answer
    }
  }
  if (!isRead) onSkipped(name, why ?? 'nothing is mirrored to which its rows belong')
}

/** A list by its first page, and rollups by the last 24 hours. */
function queryOf({ kind }: Stream, sampleSize: number): QueryParams {
  if (kind === 'list') return { limit: Math.min(sampleSize, 200) }
  if (kind !== 'daily') return {}
  const now = Math.floor(Date.now() / 1000)
  return { from: rfc3339(now - daySeconds), to: rfc3339(now) }
}

function* rowsOf({ kind }: Stream, { data, items }: ApiResponse): Generator<Json> {
  if (kind !== 'list' && kind !== 'child-list') return yield data
  for (const batch of (items ?? toItems(itemsIn(data)))?.batches() ?? []) yield* batch.items
}

/** What the team wrote, write-backs have as well. */
function isOwnMessage({ name }: Stream, item: Json): boolean {
  return name === 'messages' && toMessageSide(asJsonObject(item)?.senderType) === 'team'
}
