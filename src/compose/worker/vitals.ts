/** How the worker's projects stand, for metrics. */
import type { ProjectConfig } from '../../config.ts'
import type { ChildStream } from '../../core/mirror.ts'
import type { Vitals } from '../../core/vitals.ts'
import type { Means } from './means.ts'

export async function vitalsOf(
  { warehouse, budgets }: Means,
  projects: readonly ProjectConfig[],
): Promise<readonly Vitals[]> {
  const now = Date.now()
  const standings = await warehouse.fleet.standings(now)
  const paused = await warehouse.fleet.paused(now)
  return Promise.all(
    projects.map(async (project): Promise<Vitals> => {
      const standing = standings.get(project.projectId)
      return {
        project: project.name,
        streams: project.streams.map((stream) => {
          const end = standing?.ends.get(stream)
          const due = standing?.due.get(stream as ChildStream) ?? 0
          const lagMs = end?.at == null ? null : Math.max(0, now - end.at)
          return { stream, lagMs, due, failed: end?.failed ?? false, skipped: end?.skipped ?? false }
        }),
        gaps: standing?.gaps ?? 0,
        writebacks: standing?.writebacks ?? {},
        budget:
          (await budgets
            .known(project)
            ?.view()
            .catch(() => null)) ?? null,
        paused: paused.has(project.projectId),
      }
    }),
  )
}
