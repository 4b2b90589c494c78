/** Says when a request budget that was closed, as its record may have been lost, is open again. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { RequestBudget } from '../api/rate-limit/request-budget.ts'
import type { Ms } from '../core/time.ts'
import type { Logger } from '../log.ts'

/** How often it is looked at, at the least: others may close it anew, or its store may be away. */
const pollEveryMs: Ms = 5000

/** Resolves when it has said so, or when `isOver` says that nobody listens any more. Keeps no process alive. */
export async function logWhenBudgetOpens(project: string, budget: RequestBudget, log: Logger, isStopped: () => boolean): Promise<void> {
  const since = Date.now()
  while (!isStopped()) {
    const { closedForMs } = await budget.view().catch(() => ({ closedForMs: pollEveryMs }))
    if (closedForMs === null) {
      log.info({ event: 'budget.opened', project, for_ms: Date.now() - since })
      return
    }
    await sleep(Math.min(closedForMs, pollEveryMs) + 1, undefined, { ref: false })
  }
}
