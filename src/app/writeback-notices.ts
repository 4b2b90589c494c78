/** Notices for people: why write-backs stay in the queue. */

import type { Operation } from '../outbox/core/writeback-request.ts'
import type { CircuitState } from '../outbox/send/circuit-breaker.ts'
import { type ApiFailure, describeFailure } from '../service/core/api-failure.ts'
import type { CommandHint } from '../values/user-error.ts'

export function circuitNotices({ all, batches }: CircuitState, hint: CommandHint): string[] {
  const [list, push] = [hint('writeback list'), hint('push --despite-failures')]
  const next = `; inspect them with \`${list}\`, and continue with \`${push}\``
  return [
    ...(all === null ? [] : [`replies and notes are stopped: ${all.why}${next}`]),
    ...[...batches].map(
      ([batch, { why }]) =>
        `${batch === null ? 'write-backs without an import are' : `the import ${batch} is`} stopped: ${why}${next}`,
    ),
  ]
}

/** Operations for which the key lacks the scope. */
export function missingScopeNotices(denied: ReadonlyMap<Operation, ApiFailure>): string[] {
  const deniedByReason = Map.groupBy(denied, ([, failure]) => describeFailure(failure))
  return [...deniedByReason].map(
    ([why, entries]) => `${entries.map(([operation]) => operation).join(', ')} stay queued: ${why}`,
  )
}

/** With several projects, it is unknown which one they belong to. */
export function withoutProjectNotices(count: number): string[] {
  if (count === 0) return []
  const [rows, are] = count === 1 ? ['1 row has', 'is'] : [`${count} rows have`, 'are']
  return [`${rows} no project and ${are} not sent until project_id is set in writebacks and writeback_events`]
}
