/** The gauges of the worker itself: which of its jobs fail and for how long, and whether what it needs is there. */
import { Gauge, type Registry } from 'prom-client'
import type { FailingJob } from '../core/job-failure.ts'
import type { EpochMs } from '../core/time.ts'
import type { ReadinessResult } from './server.ts'

export function createWorkerGauges(registry: Registry) {
  const gauge = (name: string, help: string, labelNames: readonly string[]) =>
    new Gauge({ name: `deskmirror_${name}`, help, labelNames, registers: [registry] })
  const failingSeconds = gauge('job_failing_seconds', 'Since the job first failed; absent where it does not fail', [
    'job',
    'project',
    'stream',
  ])
  const isReady = gauge('ready', '1: the warehouse or the queue can be used', ['part'])
  return {
    show: (failing: readonly FailingJob[], ready: readonly ReadinessResult[], now: EpochMs) => {
      failingSeconds.reset()
      // The shortest first: of several lanes, or modes of a stream, the longest is what is left.
      const longestLast = failing.toSorted((a, b) => b.failure.since - a.failure.since)
      for (const { subject: about, failure } of longestLast) {
        const labels = { job: about.job, project: about.project?.name ?? '', stream: about.stream ?? '' }
        failingSeconds.set(labels, Math.max(0, now - failure.since) / 1000)
      }
      isReady.reset()
      for (const { name, ok } of ready) isReady.set({ part: name }, Number(ok))
    },
  }
}
