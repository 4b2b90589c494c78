/** Reads mirrored rows back, to compare them with the service. */
import type { MirrorReader, RowKey } from '../core/mirror.ts'
import type { StreamName } from '../core/stream-specs.ts'
import { throwIfAborted } from '../sync/stop.ts'

/** One read at a time would use only a part of the allowance where the service takes longer than a tenth of a second. */
export const readsAtOnce = 16

/** All mirrored rows of a stream, or of one of its parents, in key order. */
export async function* readStoredRows(
  { mirror, signal }: { readonly mirror: MirrorReader; readonly signal: AbortSignal },
  stream: StreamName,
  parent: string | null = null,
) {
  for (let after: RowKey | null = null; ; ) {
    const rows: Awaited<ReturnType<MirrorReader['readRows']>> = await mirror.readRows(stream, after, 500, parent)
    for (const row of rows) {
      throwIfAborted(signal)
      yield row
    }
    after = rows.at(-1)?.key ?? null
    if (after === null) return
  }
}
