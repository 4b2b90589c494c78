/** Why write-backs were left in the queue: sentences for a person. */
import { describeFailure, type ApiFailure } from '../core/api-failure.ts'
import type { Operation } from '../core/outbox/writeback-request.ts'
import type { CommandHint } from '../core/command-hint.ts'
import type { CircuitState } from '../writeback/send/circuit-breaker.ts'

export function circuitNotices({ allReason: all, batchReasons: batches }: CircuitState, typed: CommandHint): string[] {
  const [list, push] = [typed('writeback list'), typed('push --despite-failures')]
  const next = `; look at them with \`${list}\`, and go on with \`${push}\``
  return [
    ...(all === null ? [] : [`no more replies and notes are sent: ${all}${next}`]),
    ...[...batches].map(([batch, why]) => `no more of ${batch ?? 'those without an import'} is sent: ${why}${next}`),
  ]
}

/** What the key lacks the scopes for. */
export function missingScopeNotices(denied: ReadonlyMap<Operation, ApiFailure>): string[] {
  const lacking = Map.groupBy(denied, ([, failure]) => describeFailure(failure))
  return [...lacking].map(([why, those]) => `${those.map(([operation]) => operation).join(', ')} stay queued: ${why}`)
}

/** With several projects nobody can tell whose they are. */
export function withoutProjectNotices(count: number): string[] {
  if (count === 0) return []
  const [who, them] = count === 1 ? ['1 row names', 'it'] : [`${count} rows name`, 'them']
  return [`${who} no project: nobody sends ${them} until project_id is set, in writebacks and in writeback_events`]
}
