/** What the console needs: pages' data, people, one-time links, and a place for its audit log. */
import type { ConsoleData } from '../../app/console/console-data.ts'
import type { ConsoleProject } from '../../app/console/console-project.ts'
import type { ConsoleDecisions } from '../../app/console/decisions.ts'
import type { WritebackReads } from '../../app/console/writeback-data.ts'
import type { AuditEvent, NewAuditEvent } from '../../core/console/data.ts'
import type { EpochMs } from '../../core/time.ts'
import type { Logger } from '../../log.ts'
import type { Attempts } from '../auth.ts'
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
