/** Cursors and learned behaviours: small facts by name. */
import type { Behaviour } from '../../core/row.ts'
import { rfc3339 } from '../../core/time.ts'
import { decodeText, encodeText } from '../database/escape.ts'
import type { Db } from '../database/session.ts'
import type { Context } from './context.ts'

export async function readCursor(c: Pick<Context, 'db' | 'project'>, name: string): Promise<string | null> {
  const row = await c.db
    .selectFrom('sync_cursors')
    .select('position')
    .where('project_id', '=', c.project)
    .where('stream', '=', name)
    .executeTakeFirst()
  return row?.position ?? null
}

export async function moveCursors(
  c: Context,
  trx: Db,
  cursors: Readonly<Record<string, string | null>>,
): Promise<void> {
  for (const [stream, position] of Object.entries(cursors)) {
    if (position === null) {
      await trx.deleteFrom('sync_cursors').where('project_id', '=', c.project).where('stream', '=', stream).execute()
    } else {
      await trx
        .insertInto('sync_cursors')
        .values({ project_id: c.project, stream, position })
        .onConflict((conflict) => conflict.columns(['project_id', 'stream']).doUpdateSet({ position }))
        .execute()
    }
  }
}

export async function readBehaviours(c: Pick<Context, 'db' | 'project'>): Promise<Map<string, string>> {
  const rows = await c.db
    .selectFrom('service_behaviours')
    .select(['name', 'value'])
    .where('project_id', '=', c.project)
    .execute()
  return new Map(rows.map(({ name, value }) => [name, decodeText(value)]))
}

/** `learned_at` moves only when the value does. */
export async function learn(
  c: Pick<Context, 'project' | 'clock' | 'kind'>,
  trx: Db,
  learned: readonly Behaviour[],
): Promise<void> {
  for (const { name, value: said, evidence: proof } of learned) {
    const [value, evidence] = [encodeText(c.kind, said), encodeText(c.kind, proof)]
    const fact = { value, evidence, learned_at: rfc3339(Math.floor(c.clock() / 1000)) }
    await trx
      .insertInto('service_behaviours')
      .values({ project_id: c.project, name, ...fact })
      .onConflict((conflict) =>
        conflict.columns(['project_id', 'name']).doUpdateSet(fact).where('service_behaviours.value', '!=', value),
      )
      .execute()
  }
}
