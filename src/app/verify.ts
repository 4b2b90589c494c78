/** Runs `verify`: compares the mirror with the service. Changes nothing. */

import type { StreamName } from '../../schema/stream-specs.ts'
import type { Config, ProjectConfig } from '../config/config.ts'
import type { Logger } from '../log.ts'
import type { SyncProgress, VerifyReport } from '../mirror/mirror.ts'
import { createAuditStore } from '../mirror/sql/audits.ts'
import { verifyMirror } from '../mirror/verify/verify-mirror.ts'
import { openMirror } from './mirror.ts'
import { withProject } from './service.ts'

export type VerifyOptions = {
  readonly streams: readonly StreamName[]
  /** How many differences are listed. */
  readonly limit: number
  /** Compare only so many conversations and visitors, drawn at random, with their children; undefined = everything. */
  readonly sampleSize?: number | undefined
  readonly signal: AbortSignal
  readonly onProgress: (progress: SyncProgress) => void
  /** Reports that the warehouse is away, or back. */
  readonly notify?: (line: string) => void
  readonly log: Logger
}

export function verifyProject(config: Config, project: ProjectConfig, options: VerifyOptions): Promise<VerifyReport> {
  return withProject(config, project, { ...options, access: 'read' }, async ({ client }, warehouse) => {
    const mirror = openMirror(warehouse, project.projectId)
    const store = createAuditStore(warehouse.projectDb(project.projectId))
    const deps = { ...project, ...options, streams: new Set(options.streams), get: client.get, mirror, store }
    const result = await verifyMirror({ ...deps, now: Date.now })
    return { project: project.name, ...result, requests: client.requestCount() }
  })
}
