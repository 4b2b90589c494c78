/** What has been learned about the service's behaviour: facts by name. */
import type { ServiceBehaviour } from '../../core/row.ts'
import { toTimestamp } from '../../core/time.ts'
import type { Db } from '../database/connection-pool.ts'
import { decodeText, encodeText } from '../database/escape.ts'
import type { ProjectContext } from './project-context.ts'

export async function readBehaviours(context: Pick<ProjectContext, 'db' | 'project'>): Promise<Map<string, string>> {
  const rows = await context.db
    .selectFrom('service_behaviours')
    .select(['name', 'value'])
    .where('project_id', '=', context.project)
    .execute()
  return new Map(rows.map(({ name, value }) => [name, decodeText(value)]))
}

/** `learned_at` moves only when the value does. */
export async function recordBehaviours(
  context: Pick<ProjectContext, 'project' | 'clock' | 'kind'>,
  trx: Db,
  behaviours: readonly ServiceBehaviour[],
): Promise<void> {
  for (const { name, value: newValue, evidence: newEvidence } of behaviours) {
    const [value, evidence] = [encodeText(context.kind, newValue), encodeText(context.kind, newEvidence)]
    const fact = { value, evidence, learned_at: toTimestamp(context.clock()) }
    await trx
      .insertInto('service_behaviours')
      .values({ project_id: context.project, name, ...fact })
      .onConflict((conflict) =>
        conflict.columns(['project_id', 'name']).doUpdateSet(fact).where('service_behaviours.value', '!=', value),
      )
      .execute()
  }
}
