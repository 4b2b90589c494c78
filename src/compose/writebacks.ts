/** Write-backs with real parts: the queue in the warehouse, the service behind its budget. */
import pRetry from 'p-retry'
import type { ProjectConfig } from '../config.ts'
import { describe } from '../core/failure.ts'
import type { Outbox } from '../core/outbox.ts'
import type { Typed } from '../core/typed.ts'
import { UserError } from '../core/user-error.ts'
import type { Logger } from '../log.ts'
import type { Warehouse } from '../warehouse/open.ts'
import type { WritebackDeps } from '../writeback/deps.ts'
import type { Pushed } from '../writeback/push.ts'
import type { Service } from './service.ts'

/** How many lanes one process works on side by side: enough to use up the writes of a key, answers of a second included. */
export const lanesAtOnce = 6

export function writebackDeps(
  warehouse: Warehouse,
  project: ProjectConfig,
  service: Service,
  log: Logger,
): WritebackDeps {
  const { client, signal } = service
  return {
    project: project.projectId,
    get: client.get,
    send: client.send,
    outbox: insistent(warehouse.outbox(project.projectId)),
    mirror: warehouse.mirror(project.projectId, { schema: project.schema }),
    verifyAfterMs: project.verifyAfterMs,
    resendReplies: project.resendReplies,
    now: Date.now,
    random: Math.random,
    signal,
    log,
  }
}

/**
 * What the service answered is known here only: a database that is just being restarted is told again and again, for half
 * a minute. Told twice, it takes the first time.
 */
function insistent(outbox: Outbox): Outbox {
  const often = { retries: 10, minTimeout: 100, maxTimeout: 5000 } as const
  return { ...outbox, sent: (one, step) => pRetry(() => outbox.sent(one, step), often) }
}

/** Before anything is claimed: what is not to be sent stays as it is. */
export function refuseReadOnly({ name, readOnly }: ProjectConfig): void {
  if (!readOnly) return
  throw new UserError({
    what: `nothing of the project ${name} is sent`,
    why: 'writing to the service is switched off (DESKMIRROR_READ_ONLY)',
    next: 'set DESKMIRROR_READ_ONLY=0 (`read_only` in deskmirror.yaml), or leave it out, where writing is meant',
    exitCode: 2,
  })
}

/** Why some were left in the queue, for a person. */
export function pushNotices({ held, denied }: Pick<Pushed, 'held' | 'denied'>, typed: Typed): string[] {
  const [list, push] = [typed('writeback list'), typed('push --despite-failures')]
  const next = `; look at them with \`${list}\`, and go on with \`${push}\``
  const batches = [...held.batches].map(
    ([batch, why]) => `no more of ${batch ?? 'those without an import'} is sent: ${why}${next}`,
  )
  const lacking = new Set([...denied.values()].map((failure) => describe(failure)))
  return [
    ...(held.all === null ? [] : [`no more replies and notes are sent: ${held.all}${next}`]),
    ...batches,
    ...[...lacking].map((why) => `${[...denied.keys()].join(', ')} stay queued: ${why}`),
  ]
}

/** With several projects nobody can tell whose they are. */
export function namelessNotices(count: number): string[] {
  if (count === 0) return []
  const next = 'set their project_id, in writebacks and in writeback_events'
  return [`${count} in the queue name no project (project_id is empty), and are sent by nobody: ${next}`]
}
