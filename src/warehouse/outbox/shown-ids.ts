/** Ids in the letters in which the service shows them: a request may be written in others, and ids may be compared as texts. */
import { sql } from 'kysely'
import {
  operationTypes,
  type TargetKind,
  targetKinds,
  type WritebackRequest,
} from '../../core/outbox/writeback-request.ts'
import { inList } from '../database/dialect.ts'
import type { ProjectDb } from '../database/project-db.ts'

type Target = Pick<WritebackRequest, 'operation' | 'target'>

/** The target's id as the mirror has it; as it was written if the mirror does not have it. */
export async function readShownIds(
  context: ProjectDb,
  requests: readonly Target[],
): Promise<(request: Target) => string> {
  const shown = new Map<string, string>()
  for (const kind of targetKinds) {
    const targets = requests.filter(({ operation }) => operationTypes[operation].target === kind)
    const ids = targets.map(({ target }) => target)
    for (const id of await listMirroredIds(context, kind, ids)) shown.set(`${kind} ${id.toLowerCase()}`, id)
  }
  return ({ operation, target }) => shown.get(`${operationTypes[operation].target} ${target.toLowerCase()}`) ?? target
}

async function listMirroredIds({ db, kind, project }: ProjectDb, target: TargetKind, ids: readonly string[]) {
  const written = new Set(ids)
  const others = inAnyCase(ids).filter((id) => !written.has(id))
  if (others.length === 0) return []
  const { rows } = await sql<{ id: string }>`
    select id from ${sql.table(`${target}s`)} where project_id = ${project} and id ${inList(kind, others)}`.execute(db)
  return rows.map(({ id }) => id)
}

/** A file may write an id in upper case, and so may the service. */
export function inAnyCase(ids: readonly string[]): readonly string[] {
  return [...new Set(ids.flatMap((id) => [id, id.toLowerCase(), id.toUpperCase()]))]
}
