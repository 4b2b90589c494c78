/** What has been learned about the service's behaviour: facts by name. */
import { sql } from 'kysely'
import type { ServiceBehaviour } from '../../../schema/row.ts'
import { toTimestamp } from '../../values/time.ts'
import { decodeText, encodeText } from '../../warehouse/escape.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'

export async function readBehaviours({ db, project }: ProjectDb): Promise<Map<string, string>> {
  const { rows } = await sql<{ name: string; value: string }>`
    select name, value from service_behaviours where project_id = ${project}`.execute(db)
  return new Map(rows.map(({ name, value }) => [name, decodeText(value)]))
}

/** `learned_at` moves only when the value does. */
export async function recordBehaviours(trx: ProjectDb, behaviours: readonly ServiceBehaviour[]): Promise<void> {
  const { db, kind, project, clock } = trx
  for (const { name, value: newValue, evidence: newEvidence } of behaviours) {
    const [value, evidence] = [encodeText(kind, newValue), encodeText(kind, newEvidence)]
    const fact = { value, evidence, learned_at: toTimestamp(clock()) }
    await db
      .insertInto('service_behaviours')
      .values({ project_id: project, name, ...fact })
      .onConflict((conflict) =>
        conflict.columns(['project_id', 'name']).doUpdateSet(fact).where('service_behaviours.value', '!=', value),
      )
      .execute()
  }
}
