/** Whether the worker is ready: the warehouse and the queue respond, and it is not stopping. */
import type { JobFailures } from '../src/app/worker/job-failures.ts'
import type { WorkerContext } from '../src/app/worker/worker-context.ts'
import type { Ms } from '../src/core/time.ts'
import { withTimeout } from '../src/http/cache.ts'
import type { ReadinessResult } from '../src/http/server.ts'
import type { Backend } from './backends/backend.ts'

/** What the worker depends on. */
export type ReadinessDeps = {
  readonly workerContext: Pick<WorkerContext, 'ping'>
  readonly backend: Pick<Backend, 'ping'>
  readonly failures: JobFailures
  readonly stopping: AbortController
}

/** Shorter than the clients' timeouts; each part has its own, so that the one that hangs is named. */
const pingTimeoutMs: Ms = 3000

export async function checkReadiness({
  workerContext,
  backend,
  failures,
  stopping,
}: ReadinessDeps): Promise<readonly ReadinessResult[]> {
  const checkPart = (name: string, ping: () => Promise<void>, knownFailure: string | null): Promise<ReadinessResult> =>
    withTimeout(pingTimeoutMs, ping()).then(
      () => ({ name, ok: knownFailure === null, why: knownFailure }),
      (error: unknown) => ({ name, ok: false, why: error instanceof Error ? error.message : String(error) }),
    )
  const worker: ReadinessResult = { name: 'worker', ok: !stopping.signal.aborted, why: 'it is stopping' }
  const warehouse = checkPart('warehouse', workerContext.ping, failures.warehouseProblem())
  return [...(await Promise.all([warehouse, checkPart('queue', backend.ping, null)])), worker]
}
