/** Compares the columns of stored rows with the rows as they came: no request is needed for that. */
import { throwIfAborted } from '../../service/core/api-failure.ts'
import { asJsonObject } from '../../values/json.ts'
import type { RowKey } from '../core/mirror.ts'
import type { Stream } from '../core/stream-kinds.ts'
import type { Mirror } from '../sql/mirror.ts'
import type { Comparison } from './comparison.ts'

type CompareColumnsDeps = {
  readonly mirror: Pick<Mirror, 'findWrongColumns'>
  readonly comparison: Comparison
  readonly signal: AbortSignal
}

type ParseStored = Parameters<Mirror['findWrongColumns']>[1]
type WrongColumns = Awaited<ReturnType<Mirror['findWrongColumns']>>

const rowsAtOnce = 500

export async function compareColumns(
  { mirror, comparison, signal }: CompareColumnsDeps,
  stream: Stream,
): Promise<void> {
  const parse = parserOf(stream)
  if (parse === null) return
  for (let after: RowKey | null = null; ; ) {
    throwIfAborted(signal)
    const range = { after, limit: rowsAtOnce }
    const found: WrongColumns = await mirror.findWrongColumns(stream.name, parse, range)
    for (const { key, columns } of found.wrong) comparison.columns(stream.name, key.join('/'), columns)
    after = found.last
    if (after === null) return
  }
}

/** Null: its columns are not those of one row of the service. */
function parserOf(stream: Stream): ParseStored | null {
  switch (stream.kind) {
    case 'list':
      return (item) => stream.parseRows([item]).rows[0]
    case 'child-list':
      return (item, [parent = '']) => stream.parseRows([item], parent).rows[0]
    case 'child-object':
      return (item, [parent = '']) => withoutReadTime(stream.parseRow(asJsonObject(item), parent, 0))
    case 'daily':
    case 'snapshot':
      return null
  }
}

/** When a child was last read is not in the row. */
function withoutReadTime(row: ReturnType<Extract<Stream, { kind: 'child-object' }>['parseRow']>) {
  const { checked_at: _, ...columns } = row.columns
  return { ...row, columns }
}
