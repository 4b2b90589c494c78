/** Compares columns with the rows as they came, without any request. */
import { throwIfAborted } from '../../service/core/api-failure.ts'
import type { Difference } from '../core/audit.ts'
import type { RowKey } from '../core/mirror.ts'
import { parseStored } from '../core/parse-stored.ts'
import type { Stream } from '../core/stream-kinds.ts'
import type { Mirror } from '../sql/mirror.ts'
import type { CompareDeps } from './read-rows.ts'

const rowsAtOnce = 500

/** Of all rows of the stream, or of those whose key begins with `firstKey`. */
export async function* wrongColumns(
  { mirror, signal }: Pick<CompareDeps, 'mirror' | 'signal'>,
  stream: Stream,
  firstKey: string | null = null,
): AsyncGenerator<Difference> {
  // Their columns are not those of one row of the service.
  if (stream.kind === 'daily' || stream.kind === 'snapshot') return
  const parse: Parameters<Mirror['findWrongColumns']>[1] = (item, key) =>
    parseStored(stream, item, key)
  for (let after: RowKey | null = null; ; ) {
    throwIfAborted(signal)
    const range = { after, limit: rowsAtOnce, firstKey }
    const found = await mirror.findWrongColumns(stream.name, parse, range)
    for (const { key, columns } of found.wrong) {
      const fields = columns.map((name) => `column ${name}`)
      yield { stream: stream.name, key: key.join('/'), kind: 'different', fields }
    }
    after = found.last
    if (after === null) return
  }
}
