/** Whether the worker is ready: the warehouse and the queue respond, and it is not stopping. */

import type { Warehouse } from '../src/app/open.ts'
import { withTimeout } from '../src/http/remember-results.ts'
import type { ReadinessResult } from '../src/http/server.ts'
import { errorText } from '../src/values/system-error-text.ts'
import type { Ms } from '../src/values/time.ts'
import type { JobFailures } from '../src/worker/job-failures.ts'
import type { Backend } from './backends/backend.ts'

/** Shorter than the clients' timeouts; each part has its own, so that the one that hangs is named. */
const pingTimeoutMs: Ms = 3000

export async function checkReadiness(
  warehouse: Pick<Warehouse, 'ping'>,
  queue: Pick<Backend, 'ping'>,
  failures: JobFailures,
  stopping: AbortSignal,
): Promise<readonly ReadinessResult[]> {
  const checkPart = (name: string, ping: () => Promise<void>, problem: () => string | null): Promise<ReadinessResult> =>
    withTimeout(pingTimeoutMs, ping()).then(
      () => ({ name, ok: problem() === null, why: problem() }),
      (error: unknown) => ({ name, ok: false, why: errorText(error) }),
    )
  const worker: ReadinessResult = { name: 'worker', ok: !stopping.aborted, why: 'it is stopping' }
  const parts = [
    checkPart('warehouse', warehouse.ping, failures.warehouseProblem),
    checkPart('queue', queue.ping, () => null),
  ]
  return [...(await Promise.all(parts)), worker]
}
