/** What a person did, as the audit log keeps it. */
import type { ProjectId } from '../../values/project.ts'

export type AuditEvent = {
  readonly id: string
  readonly at: string
  /** Empty: it concerns none. */
  readonly project: ProjectId
  readonly person: string
  readonly role: string
  readonly action: string
  readonly subject: string | null
  readonly count: number | null
  readonly detail: string | null
}

/** Its id and time are those of the moment when it is stored. */
export type NewAuditEvent = Omit<AuditEvent, 'id' | 'at'>
