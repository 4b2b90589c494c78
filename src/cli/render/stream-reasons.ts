/** Why streams were left out or did not come to their end, each reason once: a service that is down fails all alike. */
import type { StreamName } from '../../core/row.ts'
import { toPrintable } from './format.ts'

type StreamEnd = { readonly stream: StreamName; readonly skipped: string | null; readonly failed: string | null }

/** One line a reason, with the streams that share it. */
export function renderStreamReasons(streams: readonly StreamEnd[]): string[] {
  const skipped = groupByReason(streams.map(({ stream, skipped }) => [stream, skipped]))
  const failed = groupByReason(streams.map(({ stream, failed }) => [stream, failed]))
  return [
    ...skipped.map(({ names, why }) => `skipped: ${names}: the key lacks the scope ${why}`),
    ...failed.map(({ names, why }) => `failed: ${names}: ${why}`),
  ].map(toPrintable)
}

/** Reasons are the same if only the path and the request's id differ; the first one is shown, with its id. */
function groupByReason(reasons: readonly (readonly [StreamName, string | null])[]) {
  const stated = reasons.flatMap(([name, why]) =>
    why === null ? [] : [{ name, why: why.replace(/^[A-Z]+ \/\S*: /, '') }],
  )
  const alike = Map.groupBy(stated, ({ why }) => withoutRequestId(why))
  return [...alike.values()].map((same) => ({
    why: same[0]?.why ?? '',
    names: same.map(({ name }) => name).join(', '),
  }))
}

function withoutRequestId(why: string): string {
  const at = why.lastIndexOf(' (request ')
  return at === -1 || !why.endsWith(')') ? why : why.slice(0, at)
}
