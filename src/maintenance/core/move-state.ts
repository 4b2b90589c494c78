/**
 * A move of a project between two warehouses, as a state machine. Invariant: never are both active,
 * whichever process is killed when. The source is marked before the target becomes active, and that
 * only if the source is marked with the same move; each mark is durable before the next step.
 * Between the two neither is active, and the same command ends that. Proof:
 * `test/maintenance/core/move-state.test.ts` visits all that steps and kills can lead to.
 */

/** `leaving`: active, with a move that has begun. */
export type MoveSourceState = 'active' | 'leaving' | 'moved' | 'arriving'

/** `arriving`, `arrived`: by the move that the source names. `other`: by another one. */
export type MoveTargetState =
  | 'empty'
  | 'active'
  | 'moved'
  | 'arriving'
  | 'arriving_other'
  | 'arrived'

/**
 * `begin`: marks the source as leaving, the target as arriving. `copy`: copies what is missing or
 * differs, marks the source as moved, goes on as `arrive`, which makes the target active.
 */
export type MoveStep = 'begin' | 'copy' | 'arrive' | 'done' | MoveRefusal
export type MoveRefusal = 'already there' | 'busy' | 'moved elsewhere' | 'not here yet'

export const moveSteps: Readonly<
  Record<MoveSourceState, Readonly<Record<MoveTargetState, MoveStep>>>
> = {
  active: {
    empty: 'begin',
    moved: 'begin',
    active: 'already there',
    arriving: 'busy',
    arriving_other: 'busy',
    arrived: 'already there',
  },
  // Killed between the two marks of the beginning, or the first target was given up.
  leaving: {
    empty: 'begin',
    moved: 'begin',
    active: 'already there',
    arriving: 'copy',
    arriving_other: 'busy',
    // A person has declared the source lost.
    arrived: 'already there',
  },
  moved: {
    empty: 'moved elsewhere',
    moved: 'moved elsewhere',
    active: 'moved elsewhere',
    arriving: 'arrive',
    arriving_other: 'moved elsewhere',
    arrived: 'done',
  },
  arriving: {
    empty: 'not here yet',
    moved: 'not here yet',
    active: 'not here yet',
    arriving: 'not here yet',
    arriving_other: 'not here yet',
    arrived: 'not here yet',
  },
}

/** What `sync_moves` stores of it. */
export type MoveMark = {
  readonly state: 'leaving' | 'moved' | 'arriving' | 'arrived'
  readonly move_id: string
}

export function sourceStateOf(mark: MoveMark | undefined): MoveSourceState {
  return mark === undefined || mark.state === 'arrived' ? 'active' : mark.state
}

/** `hasRows`: of the project. */
export function targetStateOf(
  mark: MoveMark | undefined,
  source: MoveMark | undefined,
  hasRows: boolean,
): MoveTargetState {
  const isSame = mark !== undefined && mark.move_id === source?.move_id
  switch (mark?.state) {
    case 'moved':
      return 'moved'
    case 'arriving':
      return isSame ? 'arriving' : 'arriving_other'
    case 'arrived':
      return isSame ? 'arrived' : 'active'
    case 'leaving':
      return 'active'
    case undefined:
      return hasRows ? 'active' : 'empty'
  }
}
