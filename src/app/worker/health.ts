/** How the worker's projects stand, for metrics. */
import type { ProjectConfig } from '../../config/load.ts'
import type { ChildStreamName } from '../../core/mirror.ts'
import type { ProjectHealth } from '../../core/health.ts'
import type { WorkerResources } from './resources.ts'

export async function readMirrorHealth(
  { warehouse, budgets }: WorkerResources,
  projects: readonly ProjectConfig[],
): Promise<readonly ProjectHealth[]> {
  const now = Date.now()
  const standings = await warehouse.workerState.projectStates(now)
  const paused = await warehouse.workerState.pausedProjects(now)
  return Promise.all(
    projects.map(async (project): Promise<ProjectHealth> => {
      const standing = standings.get(project.projectId)
      return {
        project: project.name,
        streams: project.streams.map((stream) => {
          const end = standing?.streams.get(stream)
          const due = standing?.pendingChildren.get(stream as ChildStreamName) ?? 0
          const lagMs = end?.at == null ? null : Math.max(0, now - end.at)
          return { stream, lagMs, due, failed: end?.failed ?? false, skipped: end?.skipped ?? false }
        }),
        gaps: standing?.gaps ?? 0,
        writebacks: standing?.writebacks ?? {},
        budget:
          (await budgets
            .ifOpened(project)
            ?.view()
            .catch(() => null)) ?? null,
        isPaused: paused.has(project.projectId),
      }
    }),
  )
}
