/** What the console needs: pages' data, people, one-time links, and a place for its audit log. */

import type { Attempts } from '../../http/auth.ts'
import type { Logger } from '../../log.ts'
import type { AuditEvent, NewAuditEvent } from '../../outbox/core/decisions.ts'
import type { EpochMs } from '../../values/time.ts'
import type { ConsoleData } from '../data/console-data.ts'
import type { ConsoleProject } from '../data/console-project.ts'
import type { ConsoleDecisions } from '../data/decisions.ts'
import type { WritebackReads } from '../data/writeback-data.ts'
import type { ConsoleAccess, EndedSessions } from './session.ts'

export type ConsoleOptions = {
  readonly data: ConsoleData
  readonly writebacks: WritebackReads
  /** Null: nothing can be decided here. Asked each time, as the configuration can be reloaded. */
  readonly decisions: () => ConsoleDecisions | null
  readonly projects: () => Promise<readonly ConsoleProject[]>
  readonly access: ConsoleAccess
  readonly ended: EndedSessions
  /** Those of the whole server. */
  readonly attempts: Attempts
  /** Whether the code of a one-time link was valid. It no longer is. */
  readonly useLink: (code: string) => Promise<boolean>
  readonly audit: {
    readonly append: (event: NewAuditEvent) => Promise<void>
    readonly list: (before: string | null, limit: number) => Promise<readonly AuditEvent[]>
  }
  /** A warehouse that is only looked at. */
  readonly isReadOnly: boolean
  readonly log: Logger
  readonly now: () => EpochMs
}
