/** The projects of a sandbox and their keys, as its options describe them. */
import type { ServiceClock } from './clock.ts'
import { type KeyRing, scopes } from './keys.ts'
import type { KeyOptions, ProjectOptions, SandboxOptions } from './options.ts'
import { usualSize } from './past/world.ts'
import { type Project, projectIdOf, projectOf } from './project.ts'
import type { Switches } from './switches.ts'

export const usualKey = 'svc_live_sandbox'

/** The first one is that of the options themselves. Throws a RangeError where two have the same id. */
export function projectsFrom(
  options: SandboxOptions,
  clock: ServiceClock,
  switches: () => Switches,
): ReadonlyMap<string, Project> {
  const projects = new Map<string, Project>()
  for (const [n, described] of tenants(options).entries()) {
    const seed = described.seed ?? (options.seed ?? 1) + n
    const id = (described.id ?? projectIdOf(seed)).toLowerCase()
    if (projects.has(id)) throw new RangeError(`two projects have the id ${id}`)
    const past = { seed, size: { ...usualSize, ...described.size }, end: clock.start }
    projects.set(id, projectOf(id, past, clock.now, switches))
  }
  return projects
}

/** Cuts each project's keys, or one that is known beforehand. Answers how to cut more. */
export function cutKeys(options: SandboxOptions, ids: readonly string[], ring: KeyRing) {
  let cut = 0
  const add = ({ key, id, scopes: given }: KeyOptions, projectId: string) => {
    cut += 1
    ring.add(key, { id: id ?? `key_${cut}`, projectId, scopes: given ?? scopes })
  }
  const all = tenants(options)
  for (const [n, projectId] of ids.entries()) {
    const usual = [{ key: n === 0 ? usualKey : `${usualKey}_${n + 1}` }]
    for (const key of all[n]?.keys ?? usual) add(key, projectId)
  }
  return add
}

function tenants(options: SandboxOptions): readonly ProjectOptions[] {
  return [options, ...(options.projects ?? [])]
}
