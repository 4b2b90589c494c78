/**
 * Cursors of lists that earlier versions stored after an interrupted read may leave out what was not proven yet, and from
 * which end pages come may have been learned from a chance. The lists are read anew.
 */
import { type Kysely, sql } from 'kysely'

export async function listProofs(db: Kysely<unknown>): Promise<void> {
  await sql`
    delete from sync_cursors where stream in ('conversations', 'visitors', 'calls')
      or stream like '%:whole' or stream like '%:whole:since'`.execute(db)
  await sql`delete from service_behaviours where name like '%.pages' or name = 'conversations.handled_filter'`.execute(
    db,
  )
}
