/** How many jobs of each queue a worker process runs at once. */
import type { Ms } from '../src/values/time.ts'
import type { Backend } from './backends/backend.ts'
import { createJobHandler, type JobDeps, type JobType } from './job-handler.ts'
import { laneJobs, schedulerJobs, syncJobs } from './job-types.ts'
import { lakeJobs } from './lake-jobs.ts'
import type { JobData, QueueName } from './queues.ts'

/** `concurrency`: of sync runs and of lanes. The other jobs are short, or wait behind these. */
export function startQueueWorkers(
  backend: Backend,
  deps: JobDeps,
  concurrency: number,
  lockMs: Ms,
): void {
  const start = <Queue extends QueueName>(
    queue: Queue,
    type: JobType<JobData<Queue>>,
    jobLimit: number,
  ) =>
    backend.worker(queue, createJobHandler(queue, type, deps), {
      lockMs,
      concurrency: Math.ceil(jobLimit),
    })
  start('schedules', schedulerJobs, 4)
  start('writebacks', laneJobs, concurrency)
  start('sync', syncJobs, concurrency)
  start('backfill', syncJobs, concurrency / 2)
  start('audits', syncJobs, concurrency / 4)
  start('lakes', lakeJobs, 1)
}
