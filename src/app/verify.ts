/** Runs `verify`: compares the mirror with the service. Changes nothing. */

import type { StreamName } from '../../schema/stream-specs.ts'
import type { Config, ProjectConfig } from '../config/config.ts'
import type { Logger } from '../log.ts'
import { clockOffsetCursor } from '../mirror/core/mirror.ts'
import type { Mirror, SyncProgress, VerifyReport } from '../mirror/mirror.ts'
import { createAuditStore } from '../mirror/sql/audits.ts'
import { runVerify } from '../mirror/verify/verify.ts'
import { runVerifySample } from '../mirror/verify/verify-sample.ts'
import { presentTime } from '../values/cursor-limit.ts'
import type { EpochSeconds } from '../values/time.ts'
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
  const { sampleSize } = options
  return withProject(config, project, { ...options, access: 'read' }, async ({ client }, warehouse) => {
    const mirror = openMirror(warehouse, project.projectId)
    const present = await readPresentTime(mirror)
    const deps = { ...project, ...options, streams: new Set(options.streams), present, get: client.get, mirror }
    const store = createAuditStore(warehouse.projectDb(project.projectId))
    const drawn = { store, random: Math.random, now: Date.now }
    const result = await (sampleSize === undefined
      ? runVerify(deps)
      : runVerifySample({ ...deps, ...drawn, sampleSize }))
    return { project: project.name, ...result, requests: client.requestCount() }
  })
}

/** By the service's clock, as the last sync saw it. */
async function readPresentTime(mirror: Pick<Mirror, 'readCursor' | 'latestMessageTime'>): Promise<EpochSeconds> {
  const localTime = Math.floor(Date.now() / 1000)
  const serviceTime = localTime + (Number(await mirror.readCursor(clockOffsetCursor)) || 0)
  return presentTime({ localTime, serviceTime, newestMessage: (await mirror.latestMessageTime()) ?? 0 })
}
