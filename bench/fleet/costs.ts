/** What a simulation must be told of the real parts. All of it is measured, but for the time that the service takes. */
import type { StreamName } from '../../src/core/row.ts'
import type { Ms } from '../../src/core/time.ts'

export type PerStream<T> = Readonly<Record<StreamName, T>>

export type Costs = {
  /** Of a worker's thread: a job of the clock, which announces its passes. */
  readonly tickCpuMs: Ms
  /** A pass but for its requests, its job with it. */
  readonly passCpuMs: PerStream<Ms>
  /** A pass that finds its stream held. */
  readonly busyCpuMs: Ms
  /** A request and its page, stored. */
  readonly requestCpuMs: Ms
  /** Waiting for the warehouse, in a pass that finds nothing new. */
  readonly passMs: Ms
  /** From a request to its answer. */
  readonly requestMs: Ms
  /** The time of the queue's server that a job takes, from its announcement to its end. */
  readonly queueMs: Ms
  /** The same of a request, which asks the budget there. */
  readonly budgetMs: Ms
}
