/** The health of the worker's projects, for metrics. */
import type { ProjectConfig } from '../../config/config.ts'
import type { ProjectHealth } from '../../core/health.ts'
import type { ChildStreamName } from '../../core/stream-specs.ts'
import { noSyncState } from '../../warehouse/stream-states.ts'
import type { WorkerResources } from './resources.ts'

export async function readMirrorHealth(
  { warehouse, budgets }: WorkerResources,
  projects: readonly ProjectConfig[],
): Promise<readonly ProjectHealth[]> {
  const now = Date.now()
  const states = await warehouse.streamStates.readProjects(now)
  const held = await warehouse.projects.listHeld()
  const paused = await warehouse.projects.listPaused(now)
  return Promise.all(
    projects
      .filter(({ projectId }) => !warehouse.isAway(projectId))
      .map(async (project): Promise<ProjectHealth> => {
        const budget = await budgets
          .ifOpened(project)
          ?.view()
          .catch(() => null)
        const { streams, pendingChildren, ...counts } = states.get(project.projectId) ?? noSyncState
        return {
          project: project.name,
          streams: project.streams.map((stream) => {
            const completion = streams.get(stream)
            return {
              stream,
              lagMs: completion?.at == null ? null : Math.max(0, now - completion.at),
              pendingChildren: pendingChildren.get(stream as ChildStreamName) ?? 0,
              isFailed: completion?.failed ?? false,
              isSkipped: completion?.skipped ?? false,
            }
          }),
          ...counts,
          budget: budget ?? null,
          isPaused: paused.has(project.projectId),
          isHeld: held.has(project.projectId),
        }
      }),
  )
}
