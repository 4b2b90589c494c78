/** The gauges of the worker itself: its failing jobs, and the readiness of its dependencies. */
import { Gauge, type Registry } from 'prom-client'
import type { FailingJob } from '../core/job-failure.ts'
import type { EpochMs } from '../core/time.ts'
import type { ReadinessResult } from './server.ts'

export function createWorkerGauges(registry: Registry) {
  const gauge = (name: string, help: string, labelNames: readonly string[]) =>
    new Gauge({ name: `deskmirror_${name}`, help, labelNames, registers: [registry] })
  const failingSeconds = gauge(
    'job_failing_seconds',
    'Time since the job first failed; absent for jobs that do not fail',
    ['job', 'project', 'stream'],
  )
  const isReady = gauge('ready', '1: the warehouse or the queue can be used', ['part'])
  return {
    update: (failing: readonly FailingJob[], ready: readonly ReadinessResult[], now: EpochMs) => {
      failingSeconds.reset()
      // The shortest first: lanes, and modes of a stream, share labels, and the longest is to remain.
      const longestLast = failing.toSorted((a, b) => b.failure.since - a.failure.since)
      for (const { subject, failure } of longestLast) {
        const labels = { job: subject.job, project: subject.project?.name ?? '', stream: subject.stream ?? '' }
        failingSeconds.set(labels, Math.max(0, now - failure.since) / 1000)
      }
      isReady.reset()
      for (const { name, ok } of ready) isReady.set({ part: name }, Number(ok))
    },
  }
}
