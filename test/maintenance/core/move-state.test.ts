/** A move never leaves two warehouses active, wherever it is killed, and always comes to its end. */
import { expect, test } from 'vitest'
import {
  type MoveMark,
  type MoveSourceState,
  type MoveStep,
  type MoveTargetState,
  moveSteps,
  sourceStateOf,
  targetStateOf,
} from '../../../src/maintenance/core/move-state.ts'

type World = { readonly source?: MoveMark; readonly target?: MoveMark; readonly hasRows: boolean }

const isAlive = {
  source: (state: MoveSourceState) => state === 'active' || state === 'leaving',
  target: (state: MoveTargetState) => state === 'active' || state === 'arrived',
}

function statesOf({ source, target, hasRows }: World): readonly [MoveSourceState, MoveTargetState] {
  return [sourceStateOf(source), targetStateOf(target, source, hasRows)]
}

/** The worlds after each durable write of a step: a kill leaves one of them, or the one before. */
const writes: Readonly<Partial<Record<MoveStep, (world: World) => readonly World[]>>> = {
  begin: (world) => {
    const move_id = `${world.source?.move_id ?? ''}+`
    const left: World = { ...world, source: { state: 'leaving', move_id } }
    return [left, { ...left, target: { state: 'arriving', move_id } }]
  },
  copy: ({ source, target }) => [
    { ...(source && { source }), ...(target && { target }), hasRows: true },
    {
      source: { state: 'moved', move_id: source!.move_id },
      ...(target && { target }),
      hasRows: true,
    },
  ],
  arrive: (world) => [{ ...world, target: { state: 'arrived', move_id: world.source!.move_id } }],
}

const stepOf = (world: World): MoveStep => {
  const [source, target] = statesOf(world)
  return moveSteps[source][target]
}

/** All that can be reached by running the command and killing it anywhere. */
function reachable(first: World): readonly World[] {
  const found = new Map<string, World>()
  const visit = (world: World) => {
    const key = JSON.stringify(world)
    if (found.has(key) || found.size > 50) return
    found.set(key, world)
    for (const next of writes[stepOf(world)]?.(world) ?? []) visit(next)
  }
  visit(first)
  return [...found.values()]
}

const old = { state: 'moved', move_id: 'old' } as const
const beginnings: readonly World[] = [
  { hasRows: false },
  // It was here before, and is moved back.
  { source: { state: 'arrived', move_id: 'old' }, target: old, hasRows: true },
  // A move to another target was given up.
  { source: { state: 'leaving', move_id: 'other' }, hasRows: false },
]

test('wherever it is killed, at most one is active, and the same command ends it', () => {
  for (const first of beginnings) {
    const worlds = reachable(first)
    expect(worlds.length).toBeGreaterThan(4)
    for (const world of worlds) {
      const [source, target] = statesOf(world)
      expect(isAlive.source(source) && isAlive.target(target), JSON.stringify(world)).toBe(false)
      let last = world
      for (let n = 0; n < 4; n++) last = writes[stepOf(last)]?.(last).at(-1) ?? last
      expect(statesOf(last)).toEqual(['moved', 'arrived'])
    }
  }
})

test('the target becomes active only if the source is marked with the same move', () => {
  for (const [source, steps] of Object.entries(moveSteps))
    for (const [target, step] of Object.entries(steps)) {
      if (step === 'arrive') expect([source, target]).toEqual(['moved', 'arriving'])
      if (step === 'copy') expect([source, target]).toEqual(['leaving', 'arriving'])
    }
  const moved = { state: 'moved', move_id: 'a' } as const
  expect(targetStateOf({ state: 'arriving', move_id: 'b' }, moved, true)).toBe('arriving_other')
  expect(targetStateOf({ state: 'arrived', move_id: 'b' }, moved, true)).toBe('active')
})

test('a living project is never overwritten', () => {
  for (const steps of Object.values(moveSteps))
    expect(['already there', 'moved elsewhere', 'not here yet']).toContain(steps.active)
})
