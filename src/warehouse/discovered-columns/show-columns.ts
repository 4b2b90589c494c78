/** Some tables are read by a view, which has to show the columns that are added to the table. */
import type { Kysely } from 'kysely'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import { createMessagesView } from '../../../schema/messages-view.ts'
import type { Db } from '../database/connection-pool.ts'

/** `without`: a column that is about to be replaced. Fails if another view reads it. */
export async function showColumns(trx: Db, kind: DatabaseKind, table: string, without?: string): Promise<void> {
  if (table === 'message_rows') await createMessagesView(trx as unknown as Kysely<unknown>, kind, without)
}
