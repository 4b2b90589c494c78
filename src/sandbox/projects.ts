/** The projects of a sandbox and their keys, as described by its options. */
import type { ServiceClock } from './clock.ts'
import { type ApiKeys, scopes } from './keys.ts'
import type { KeyOptions, ProjectOptions, SandboxOptions } from './options.ts'
import { createProject, type Project, projectIdFromSeed } from './project.ts'
import { defaultSize } from './seed/seed-data.ts'
import type { Switches } from './switches.ts'

export const defaultKey = 'svc_live_sandbox'

/** The first project is that of the options themselves. Throws RangeError for duplicate ids. */
export function createProjects(
  options: SandboxOptions,
  clock: ServiceClock,
  switches: () => Switches,
): ReadonlyMap<string, Project> {
  const projects = new Map<string, Project>()
  for (const [n, projectOptions] of allProjectOptions(options).entries()) {
    const seed = projectOptions.seed ?? (options.seed ?? 1) + n
    const id = (projectOptions.id ?? projectIdFromSeed(seed)).toLowerCase()
    if (projects.has(id)) throw new RangeError(`two projects have the id ${id}`)
    const seedOptions = { seed, size: { ...defaultSize, ...projectOptions.size }, end: clock.start }
    projects.set(id, createProject(id, seedOptions, clock.now, switches))
  }
  return projects
}

/** Creates each project's keys, or a default key. Returns a function that adds more. */
export function createKeys(options: SandboxOptions, ids: readonly string[], apiKeys: ApiKeys) {
  let keyCount = 0
  const add = ({ key, id, scopes: given }: KeyOptions, projectId: string) => {
    keyCount += 1
    apiKeys.set(key, { id: id ?? `key_${keyCount}`, projectId, scopes: given ?? scopes })
  }
  const all = allProjectOptions(options)
  for (const [n, projectId] of ids.entries()) {
    const defaultKeys = [{ key: n === 0 ? defaultKey : `${defaultKey}_${n + 1}` }]
    for (const key of all[n]?.keys ?? defaultKeys) add(key, projectId)
  }
  return add
}

function allProjectOptions(options: SandboxOptions): readonly ProjectOptions[] {
  return [options, ...(options.projects ?? [])]
}
