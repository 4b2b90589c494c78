/** How many conversations wait until their facts are derived. */
import type { FactsWaiting } from '../../core/command-reports.ts'
import type { ProjectDb } from '../database/project-db.ts'
import { readFactsState } from './facts-state.ts'

/** Those that changed, and those that a rebuild has not reached, each once. */
export async function countWaitingConversations(context: ProjectDb): Promise<FactsWaiting> {
  const { db, project } = context
  const state = await readFactsState(context)
  // Stored by a version without facts: the next refresh begins a rebuild.
  const isUnderived = state?.fingerprint === ''
  const position = state?.rebuild ?? null
  if (!isUnderived && position?.kind !== 'conversation')
    return { conversations: await countPending(context, null), isRebuild: position !== null }
  const reached = isUnderived ? '' : (position?.after ?? '')
  const { left } = await db
    .selectFrom('conversations')
    .select((eb) => eb.fn.countAll<number>().as('left'))
    .where('project_id', '=', project)
    .where('id', '>', reached)
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow()
  return { conversations: Number(left) + (await countPending(context, reached)), isRebuild: true }
}

/** `upTo`: only up to this id. */
async function countPending({ db, project }: ProjectDb, upTo: string | null): Promise<number> {
  const pending = db
    .selectFrom('facts_due')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where((eb) => eb.and({ project_id: project, kind: 'conversation' }))
  const { count } = await (upTo === null ? pending : pending.where('id', '<=', upTo)).executeTakeFirstOrThrow()
  return Number(count)
}
