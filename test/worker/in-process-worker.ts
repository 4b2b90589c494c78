/** Runs a worker in the test's own process, over a sandbox, and stops it at the end of the test. */
import { onTestFailed, onTestFinished } from 'vitest'
import { startWorker, type WorkerOptions } from '../../jobs/worker.ts'
import type { Config, ProjectConfig } from '../../src/config/config.ts'
import { createLog } from '../../src/log.ts'
import { configOf } from '../mirror/sync/sync-sandbox.ts'
import type { WorkerStores } from './fixtures.ts'
import { createLogReader } from './log-reader.ts'

/**
 * An incremental sync each second, and nothing else. Of two streams, as each sync of one is fifty
 * statements.
 */
export const frequentSchedules: Pick<ProjectConfig, 'schedules' | 'streams'> = {
  streams: ['conversations', 'messages'],
  schedules: {
    incremental: { kind: 'every', ms: 1000 },
    reconcile: { kind: 'off' },
    analytics: { kind: 'off' },
    availability: { kind: 'off' },
    audit: { kind: 'off' },
  },
}

export function workerConfig(
  stores: WorkerStores,
  projects: readonly ProjectConfig[],
  overrides: Partial<Config> = {},
): Config {
  return {
    ...configOf(stores.databaseUrl, projects[0]!),
    projects,
    queueUrl: stores.queueUrl,
    concurrency: 4,
    ...overrides,
  }
}

export async function startWorkerInProcess(config: Config, options: Partial<WorkerOptions> = {}) {
  const ended = Promise.withResolvers<never>()
  ended.promise.catch(() => {})
  const reader = createLogReader(ended.promise)
  onTestFailed(() => void process.stderr.write(reader.tail()))
  const log = createLog({ level: 'debug', pretty: false, secrets: [], write: reader.write })
  const worker = await startWorker(config, {
    log,
    onFatal: ended.reject,
    maintenanceEveryMs: 1000,
    ...options,
  })
  onTestFinished(worker.stop)
  return { ...reader, ...worker }
}
