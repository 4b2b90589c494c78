/** `verify` with real parts: compares the mirror with the service. Changes nothing. */
import type { Config, ProjectConfig } from '../config.ts'
import type { SyncProgress, VerifyReport } from '../core/report.ts'
import type { StreamName } from '../core/row.ts'
import type { Logger } from '../log.ts'
import { verify } from '../verify/verify.ts'
import { withBudgets, withMirror } from './opened.ts'
import { withService } from './service.ts'

export type VerifyOptions = {
  readonly streams: readonly StreamName[]
  /** How many differences are listed. */
  readonly limit: number
  readonly signal: AbortSignal
  readonly onProgress: (progress: SyncProgress) => void
  readonly log: Logger
}

export function verifyProject(config: Config, project: ProjectConfig, options: VerifyOptions): Promise<VerifyReport> {
  const { streams, limit, signal, onProgress, log } = options
  return withMirror(config, (warehouse) =>
    withBudgets(config, warehouse, log, (budgets) =>
      withService(project, budgets.of(project), { signal, log }, async ({ client }) => {
        const found = await verify({
          project: project.projectId,
          streams: new Set(streams),
          startDate: project.startDate,
          get: client.get,
          mirror: warehouse.mirror(project.projectId),
          limit,
          signal,
          onProgress,
        })
        return { project: project.name, ...found, requests: client.requests() }
      }),
    ),
  )
}
