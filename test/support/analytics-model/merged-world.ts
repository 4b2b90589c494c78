/**
 * Many random worlds as two projects of one warehouse: the calendar of a project takes thousands of
 * rows, and reports say more about many conversations. The ids of each world are prefixed with its
 * seed.
 */
import { mutateWorld, type Touched } from './mutations.ts'
import { type ModelWorld, randomWorld, zones } from './random-world.ts'
import type { ModelSettings, ProjectRows } from './raw-rows.ts'

/** Projects at one time. `touched`: what changed since the step before. */
export type MergedStep = {
  readonly projects: readonly ProjectRows[]
  readonly touched: readonly Touched[]
}

/** Nothing happens later in any world. */
export const lastDay = '2025-11-20'

/** In the middle of the worlds that are in June. */
const mirroredSince = '2025-06-10T03:00:00Z'

/**
 * How the projects look first, and after each of some mutations. `group`: makes the names, and
 * chooses the time zones.
 */
export function mergedSteps(
  group: number,
  seeds: readonly number[],
  mutations: number,
): MergedStep[] {
  let worlds = seeds.map(randomWorld)
  const settings = mergeSettings(group, worlds)
  const steps: MergedStep[] = [{ projects: mergeProjects(group, worlds, settings), touched: [] }]
  for (let step = 1; step <= mutations; step++) {
    const mutated = worlds.map((world) => mutateWorld(world, step))
    worlds = mutated.map(({ world }) => world)
    const touched = [0, 1].map((index) => mergeTouched(nameOf(group, index), mutated, index))
    steps.push({ projects: mergeProjects(group, worlds, settings), touched })
  }
  return steps
}

const nameOf = (group: number, index: number) => `project-${group}-${index}`

/** The weekly hours of the first world; every world has its holidays. */
function mergeSettings(group: number, worlds: readonly ModelWorld[]): ModelSettings[] {
  return [0, 1].flatMap((index) => {
    const all = worlds.flatMap(({ projects }) => projects[index]?.settings ?? [])
    const holidays = Object.assign(
      {},
      ...all.map((settings) => settings.holidays),
    ) as ModelSettings['holidays']
    const timeZone = zones[(2 * group + index) % zones.length] ?? 'UTC'
    return all.slice(0, 1).map((settings) => ({ ...settings, holidays, timeZone, mirroredSince }))
  })
}

function mergeProjects(
  group: number,
  worlds: readonly ModelWorld[],
  settings: readonly ModelSettings[],
): ProjectRows[] {
  return settings.map((ofProject, index) => {
    const parts = worlds.flatMap(({ seed, projects }) => prefixIds(seed, projects[index]))
    return {
      project: nameOf(group, index),
      settings: ofProject,
      conversations: parts.flatMap(({ conversations }) => conversations),
      messages: parts.flatMap(({ messages }) => messages),
      changes: parts.flatMap(({ changes }) => changes),
      // Two worlds may have asked in the same second.
      snapshots: [
        ...new Map(
          parts.flatMap(({ snapshots }) => snapshots).map((row) => [row.read_at, row]),
        ).values(),
      ],
      activity: parts.flatMap(({ activity }) => activity),
    }
  })
}

function prefixIds(seed: number, rows: ProjectRows | undefined): ProjectRows[] {
  if (rows === undefined) return []
  const prefix = (id: string) => `${seed}-${id}`
  const withConversation = <T extends { conversation_id: string }>(row: T): T => ({
    ...row,
    conversation_id: prefix(row.conversation_id),
  })
  return [
    {
      ...rows,
      conversations: rows.conversations.map((row) => ({
        ...row,
        id: prefix(row.id),
        visitor_id: row.visitor_id === null ? null : prefix(row.visitor_id),
      })),
      messages: rows.messages.map(withConversation),
      changes: rows.changes.map((row) => withConversation({ ...row, id: prefix(row.id) })),
      activity: rows.activity.map((row) => ({ ...row, visitor_id: prefix(row.visitor_id) })),
    },
  ]
}

function mergeTouched(
  project: string,
  mutated: readonly { readonly world: ModelWorld; readonly touched: readonly Touched[] }[],
  index: number,
): Touched {
  const parts = mutated.map(({ world: { seed }, touched }) => ({ seed, touched: touched[index] }))
  const idsOf = (kind: 'conversations' | 'visitors') =>
    new Set(
      parts.flatMap(({ seed, touched }) =>
        [...(touched?.[kind] ?? [])].map((id) => `${seed}-${id}`),
      ),
    )
  const snapshots = parts.flatMap(({ touched }) => touched?.snapshots ?? [])
  return { project, conversations: idsOf('conversations'), visitors: idsOf('visitors'), snapshots }
}
