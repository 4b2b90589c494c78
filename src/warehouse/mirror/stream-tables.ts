/** Which table holds a stream's rows, and which columns a page fills. */
import type { ColumnType } from '../../../schema/column-types.ts'
import { tables } from '../../../schema/tables.ts'
import type { StreamName } from '../../core/row.ts'

export type MirroredTable =
  | 'conversations'
  | 'messages'
  | 'visitors'
  | 'visitor_activity'
  | 'calls'
  | 'call_recordings'
  | 'analytics_rollups'
  | 'availability_snapshots'

export const tableOfStream: Readonly<Record<StreamName, MirroredTable>> = {
  conversations: 'conversations',
  messages: 'messages',
  visitors: 'visitors',
  visitor_activity: 'visitor_activity',
  calls: 'calls',
  call_recordings: 'call_recordings',
  analytics: 'analytics_rollups',
  availability: 'availability_snapshots',
}

/** Set by the warehouse itself, not when the row is stored. */
const warehouseOnlyColumns = ['deleted_at', 'messages_complete']

/** The columns that storing a row writes, the common ones first. */
export function insertedColumns(table: MirroredTable): readonly { readonly name: string; readonly type: ColumnType }[] {
  return Object.entries(tables[table].columns)
    .filter(([name]) => !warehouseOnlyColumns.includes(name))
    .map(([name, [type]]) => ({ name, type: withoutNullability(type) }))
}

/** A column's type without the mark that it may be null. */
export function withoutNullability(type: ColumnType | `${ColumnType}?`): ColumnType {
  return type.replace('?', '') as ColumnType
}
