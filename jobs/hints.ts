/** What webhooks have brought for a project, as a job: what is due is looked after, and what follows from it announced. */
import type { HintsEnd } from '../src/compose/worker/deliveries.ts'
import { never } from '../src/core/never.ts'
import type { Logger } from '../src/log.ts'
import type { RunningJob } from './backends/backend.ts'
import { about } from './caught.ts'
import { dropped, type JobDeps } from './deps.ts'
import { type Hint, hintQueue, readHint } from './queues.ts'
import { announced, announcedBy } from './rounds.ts'
import type { Verdict } from './verdict.ts'

export async function workHint(job: RunningJob<unknown>, deps: JobDeps): Promise<Verdict> {
  const hint = readHint(job.data)
  const project = hint === null ? undefined : deps.project(hint.project)
  if (hint === null || project === undefined) {
    return dropped(hintQueue, job, deps, 'project')
  }
  const startedAt = performance.now()
  const announce = async ({ lists }: { lists: boolean }) => {
    const passes = lists ? announcedBy('incremental', project) : []
    await deps.announce([...passes, ...announced('passes', project, await deps.workplace.children(project))])
  }
  const end = await deps.workplace.takeDeliveries(project, { signal: deps.stopping, announce })
  const subject = about('webhooks', deps, hint.project)
  if (end.kind === 'done') await deps.failures.succeeded(subject)
  const isNews = end.kind === 'failed' && (await deps.failures.failed(subject, end.why, true))
  tell(deps.log, hint, end, Math.round(performance.now() - startedAt), isNews)
  const verdict = verdictOf(end)
  deps.metrics.worked({ queue: hintQueue, verdict: verdict.do })
  return verdict
}

/** What could not be done is due again later, and the sweep finds it. */
function verdictOf(end: HintsEnd): Verdict {
  switch (end.kind) {
    case 'done':
    case 'paused':
    case 'failed':
      return { do: 'done' }
    case 'interrupted':
      return { do: 'again', afterMs: 1 }
    default:
      return never(end)
  }
}

function tell(log: Logger, { project }: Hint, end: HintsEnd, tookMs: number, isNews: boolean): void {
  const what = { project, took_ms: tookMs }
  if (end.kind === 'failed') log[isNews ? 'warn' : 'debug']({ event: 'hints.failed', ...what, why: end.why })
  else if (end.kind !== 'done') log.debug({ event: `hints.${end.kind}`, ...what })
  else if (end.deliveries > 0) {
    log.info({ event: 'hints.taken', ...what, deliveries: end.deliveries, lists: end.lists })
  }
}
