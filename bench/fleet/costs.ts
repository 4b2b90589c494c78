/**
 * The costs of the real parts that the simulation uses. All are measured, except the service's
 * response time.
 */
import type { StreamName } from '../../schema/stream-specs.ts'
import type { Ms } from '../../src/values/time.ts'

export type PerStream<T> = Readonly<Record<StreamName, T>>

export type Costs = {
  /** A worker's thread: a scheduler job, which enqueues sync jobs. */
  readonly tickCpuMs: Ms
  /** A sync run without its requests, including its job. */
  readonly passCpuMs: PerStream<Ms>
  /** A sync run whose stream is locked. */
  readonly busyCpuMs: Ms
  /** A request, and storing its page. */
  readonly requestCpuMs: Ms
  /** Waiting for the warehouse, in a sync run without new rows. */
  readonly passMs: Ms
  /** From a request to its response. */
  readonly requestMs: Ms
  /** The queue server's time for a job, from enqueueing to completion. */
  readonly queueMs: Ms
  /** The queue server's time for a request, whose budget is there. */
  readonly budgetMs: Ms
}
