/** How a stored row is parsed again from what its `raw` has. */
import type { MirrorRow } from '../../../schema/row.ts'
import type { Json } from '../../values/json.ts'
import type { RowKey } from './mirror.ts'
import type { Stream } from './stream-kinds.ts'

/** Undefined: the item is no row. */
export function parseStored<Item extends Json>(
  stream: Stream,
  item: Item,
  [parent = '']: RowKey,
): MirrorRow<Item> | undefined {
  switch (stream.kind) {
    case 'list':
      return stream.parseRows([item]).rows[0]
    case 'child-list':
      return stream.parseRows([item], parent).rows[0]
    case 'child-object':
      return stream.parseRow(item, parent, 0)
    // The columns are not those of the row.
    case 'daily':
      return { columns: {}, extraFields: new Map(), item }
    case 'snapshot':
      return stream.parseRow(item, 0)
  }
}
