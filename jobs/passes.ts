/** One portion of a pass, as a job: what became of it, and what is to be done next. */
import type { PassEnd } from '../src/compose/worker/pass.ts'
import type { ProjectConfig } from '../src/config.ts'
import { never } from '../src/core/never.ts'
import type { Ms } from '../src/core/time.ts'
import type { RunningJob } from './backends/backend.ts'
import { passSubject } from './caught.ts'
import { dropped, type JobDeps } from './deps.ts'
import { type Pass, type PassQueue, readPass } from './queues.ts'
import { announced, lists } from './rounds.ts'
import type { Verdict } from './verdict.ts'

/** A stream that somebody else reads is asked for again for so long; then the next round is soon enough. */
const busyForMs = 15 * 60_000

export async function workPass(queue: PassQueue, job: RunningJob<unknown>, deps: JobDeps): Promise<Verdict> {
  const pass = readPass(job.data)
  const project = pass === null ? undefined : deps.project(pass.project)
  if (pass === null || project === undefined || !project.streams.includes(pass.stream)) {
    return dropped(queue, job, deps, 'project or stream')
  }
  const startedAt = performance.now()
  const end = await deps.workplace.pass(project, { ...pass, portionMs: deps.portionMs, signal: deps.stopping })
  const tookMs = Math.round(performance.now() - startedAt)
  const subject = passSubject(pass, deps)
  if (end.kind === 'done' || end.kind === 'more') await deps.failures.succeeded(subject)
  const isNews = end.kind === 'failed' && (await deps.failures.failed(subject, end.why, true))
  tell(deps, pass, end, tookMs, isNews)
  const verdict = await verdictOf(queue, job, pass, project, end, deps)
  deps.metrics.worked({ queue, verdict: verdict.do })
  return verdict
}

async function verdictOf(
  queue: PassQueue,
  job: RunningJob<unknown>,
  pass: Pass,
  project: ProjectConfig,
  end: PassEnd,
  deps: JobDeps,
): Promise<Verdict> {
  switch (end.kind) {
    case 'done':
      await announceChildren(pass, project, deps)
      await announceRollups(pass, project, end.changed > 0, deps)
      return { do: 'done' }
    case 'more': {
      const rest = { ...pass, mode: end.mode }
      if (queue === 'backfill' && rest.mode === pass.mode) return { do: 'again', afterMs: 1 }
      await deps.announce([{ queue: 'backfill', pass: rest }])
      await announceChildren(pass, project, deps)
      return { do: 'done' }
    }
    case 'busy': {
      const waited = Date.now() - job.timestamp
      return waited > busyForMs ? { do: 'done' } : { do: 'again', afterMs: 2000 + deps.random() * 3000 }
    }
    case 'interrupted':
      return { do: 'again', afterMs: 1 }
    case 'paused':
      return { do: 'done' }
    case 'failed':
      return { do: 'retry', why: end.why }
    default:
      return never(end)
  }
}

/** What a list has found is read at once, also if the list itself has years to go. */
async function announceChildren({ stream }: Pass, project: ProjectConfig, deps: JobDeps): Promise<void> {
  if (!lists.includes(stream)) return
  await deps.announce(announced('passes', project, await deps.workplace.children(project)))
}

/** The first day of the rollups is known when the lists have been read, and moves when an earlier row or setting comes. */
async function announceRollups(
  { stream }: Pass,
  project: ProjectConfig,
  isNews: boolean,
  deps: JobDeps,
): Promise<void> {
  if (stream === 'analytics' || (!isNews && deps.lookedAt.has(project))) return
  if (await deps.workplace.rollupsBehind(project)) await deps.announce(announced('backfill', project, ['analytics']))
  deps.lookedAt.add(project)
}

function tell(
  { metrics, log }: JobDeps,
  { project, stream, mode }: Pass,
  end: PassEnd,
  tookMs: Ms,
  isNews: boolean,
): void {
  const what = { project, stream, mode, took_ms: tookMs }
  if (end.kind === 'done') {
    metrics.passed({ stream, mode, outcome: end.outcome, tookMs })
    log.info({ event: 'pass.ended', ...what, outcome: end.outcome, changed: end.changed })
  } else if (end.kind === 'failed') {
    metrics.passed({ stream, mode, outcome: 'failed', tookMs })
    // While the service is away every pass of every stream fails for one reason, again and again.
    log[isNews ? 'warn' : 'debug']({ event: 'pass.failed', ...what, why: end.why })
  } else {
    if (end.kind === 'more') metrics.passed({ stream, mode, outcome: 'interrupted', tookMs })
    log.debug({ event: `pass.${end.kind}`, ...what })
  }
}
