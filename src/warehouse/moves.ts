/**
 * Whether a warehouse, or a project of it, has moved away, or is still arriving. Writers are
 * refused before they begin, and others by the database (`schema/move-fence.ts`).
 */
import { fencedStates } from '../../schema/move-fence.ts'
import type { DatabaseSchema } from '../../schema/tables.ts'
import type { ProjectId } from '../values/project.ts'
import { UserError } from '../values/user-error.ts'
import type { Db } from './connection-pool.ts'

/** In `sync_moves`: the warehouse with all of its projects. */
export const wholeWarehouse: ProjectId = ''

type Move = DatabaseSchema['sync_moves']

export function readMoves(db: Db): Promise<readonly Move[]> {
  return db.selectFrom('sync_moves').selectAll().execute()
}

/** Undefined: it has never moved. */
export const isFenced = (move: Pick<Move, 'state'> | undefined): boolean =>
  move !== undefined && fencedStates.includes(move.state)

/** The move because of which nothing may be stored of the project; '': of any. */
export function findMove(moves: readonly Move[], project: ProjectId): Move | undefined {
  const fenced = moves.filter(isFenced)
  const ofId = (id: ProjectId) => fenced.find(({ project_id }) => project_id === id)
  return ofId(wholeWarehouse) ?? ofId(project)
}

/** `the project 0d9c… has moved to postgres://db/mirror` */
export function describeMove({ project_id, state, other, since }: Move): string {
  const what = project_id === wholeWarehouse ? 'the warehouse' : `the project ${project_id}`
  return state === 'moved'
    ? `${what} has moved to ${other} (${since})`
    : `${what} is still arriving from ${other} (${since})`
}

/** What a person changes after a move. `setting`: which names the database. */
export function afterMove(
  { project_id, other }: Pick<Move, 'project_id' | 'other'>,
  setting: string,
) {
  const address = other.startsWith('sqlite:') ? other : `${other}, with its user`
  return project_id === wholeWarehouse
    ? `set ${setting} to ${address}`
    : 'remove the project from this configuration, and give it one of its own that sets ' +
        `${setting} to ${address}`
}

/** For those who would write. */
export function movedError(move: Move, setting = 'DESKMIRROR_DATABASE_URL'): UserError {
  const next =
    move.state === 'moved'
      ? afterMove(move, setting)
      : 'run `deskmirror move` with the configuration of that one once more: it continues'
  return new UserError({
    what: 'nothing is read or sent here',
    why: describeMove(move),
    next,
  })
}
