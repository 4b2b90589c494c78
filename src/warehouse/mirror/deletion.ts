/** What the service no longer has. The rows stay, marked; they come back by being stored again. */
import { sql } from 'kysely'
import type { ChildStream } from '../../core/mirror.ts'
import { rfc3339 } from '../../core/time.ts'
import { forgetChildren } from './children.ts'
import type { Context } from './context.ts'
import { write } from './write.ts'

const childOf = {
  conversations: { stream: 'messages', parent: 'conversation_id' },
  visitors: { stream: 'visitor_activity', parent: 'visitor_id' },
  calls: { stream: 'call_recordings', parent: 'call_id' },
} as const satisfies Record<string, { stream: ChildStream; parent: string }>

/** `at`: when the service said so, in milliseconds; a copy asked for earlier does not bring the row back. */
export async function markDeleted(c: Context, stream: keyof typeof childOf, id: string, at: number): Promise<void> {
  const { stream: child, parent } = childOf[stream]
  const since = rfc3339(Math.floor(at / 1000))
  await write(c, async (trx) => {
    for (const [table, key] of [
      [stream, 'id'],
      [child, parent],
    ] as const) {
      await sql`
        update ${sql.table(table)} set deleted_at = ${since}, asked_at = ${at}
        where project_id = ${c.project} and ${sql.ref(key)} = ${id} and deleted_at is null`.execute(trx)
    }
    await forgetChildren(c, trx, child, id)
  })
}
