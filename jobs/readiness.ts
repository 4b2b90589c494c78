/** Whether the worker can work: the warehouse, the queue, and that nobody has told it to stop. */
import type { JobFailures } from '../src/compose/worker/failures.ts'
import type { Workplace } from '../src/compose/worker/workplace.ts'
import type { Ms } from '../src/core/time.ts'
import { within } from '../src/http/remembered.ts'
import type { Readiness } from '../src/http/server.ts'
import type { Backend } from './backends/backend.ts'

/** What the worker cannot do without. */
export type Parts = {
  readonly workplace: Pick<Workplace, 'ping'>
  readonly backend: Pick<Backend, 'ping'>
  readonly failures: JobFailures
  readonly stopping: AbortController
}

/** Shorter than those who ask wait: each part has its own time, so that the one that is silent can be named. */
const answerMs: Ms = 3000

export async function readiness({ workplace, backend, failures, stopping }: Parts): Promise<readonly Readiness[]> {
  const ask = (name: string, ping: () => Promise<void>, trouble: string | null): Promise<Readiness> =>
    within(answerMs, ping()).then(
      () => ({ name, ok: trouble === null, why: trouble }),
      (error: unknown) => ({ name, ok: false, why: error instanceof Error ? error.message : String(error) }),
    )
  const stays: Readiness = { name: 'worker', ok: !stopping.signal.aborted, why: 'it is stopping' }
  const warehouse = ask('warehouse', workplace.ping, failures.warehouseTrouble())
  return [...(await Promise.all([warehouse, ask('queue', backend.ping, null)])), stays]
}
