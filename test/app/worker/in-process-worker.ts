/** A worker within the test's own process, over a sandbox. It does not outlive its test. */
import { onTestFailed, onTestFinished } from 'vitest'
import { startWorker, type WorkerOptions } from '../../../jobs/worker.ts'
import type { Config, ProjectConfig } from '../../../src/config/load.ts'
import { createLog } from '../../../src/log.ts'
import { configOf } from '../../sync/sync-sandbox.ts'
import type { WorkerStores } from './fixtures.ts'
import { createLogReader } from './log-reader.ts'

/** A round each second, and only when asked for by the test: nothing at night. */
export const frequentSchedules: Pick<ProjectConfig, 'schedules'> = {
  schedules: {
    incremental: { kind: 'every', ms: 1000 },
    reconcile: { kind: 'off' },
    analytics: { kind: 'off' },
    availability: { kind: 'off' },
  },
}

export function workerConfig(office: WorkerStores, projects: readonly ProjectConfig[], over: Partial<Config> = {}): Config {
  return { ...configOf(office.databaseUrl, projects[0]!), projects, queueUrl: office.queueUrl, concurrency: 4, ...over }
}

export async function startWorkerInProcess(config: Config, options: Partial<WorkerOptions> = {}) {
  const ended = Promise.withResolvers<never>()
  ended.promise.catch(() => {})
  const spoken = createLogReader(ended.promise)
  onTestFailed(() => void process.stderr.write(spoken.tail()))
  const log = createLog({ level: 'debug', pretty: false, secrets: [], write: spoken.write })
  const worker = await startWorker(config, { log, onFatal: ended.reject, maintenanceEveryMs: 300, ...options })
  onTestFinished(worker.stop)
  return { ...spoken, ...worker }
}
