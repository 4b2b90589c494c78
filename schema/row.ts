/** What is stored: rows, gaps, behaviours, what people did. */

import type { ExtraField } from '../src/values/field-path.ts'
import type { Json, Scalar } from '../src/values/json.ts'
import type { Kept } from '../src/values/private-columns.ts'
import type { ProjectId } from '../src/values/project.ts'
import type { EpochSeconds } from '../src/values/time.ts'
import type { StreamName } from './stream-specs.ts'

/**
 * Read from the service and not yet stored. Only one whose item went through the rules of its
 * columns can be stored (`Kept`).
 */
export type MirrorRow<Item extends Json = Kept> = {
  /** By their names in the table, with keys, without `project_id`. Times are RFC 3339 text. */
  readonly columns: Readonly<Record<string, Scalar>>
  /** Undocumented fields by dotted path (`customFields.plan`). */
  readonly extraFields: ReadonlyMap<string, ExtraField>
  /** The row as it came. Its JSON text is the column `raw`. */
  readonly item: Item
  /** What is stored in place of that text where the columns hold the rest. */
  readonly storedRaw?: string
}

/** A row that cannot be stored. `id` null: its id could not be read. */
export type RejectedRow = { readonly id: string | null; readonly why: string }

/** One printable line, whatever the id contains. */
export function describeRejectedRow({ id, why }: RejectedRow): string {
  const name = id === null ? 'a row without a readable id' : `row ${printableId(id)}`
  return `${name} could not be stored: ${why}`
}

function printableId(id: string): string {
  const text = JSON.stringify(id.toWellFormed()).slice(1, -1)
  return text.length > 80 ? `${text.slice(0, 60)}… (${id.length} characters)` : text
}

/** Data known to be missing: the seconds from `from` to `to`, both included; null = not known. */
export type Gap = {
  readonly stream: StreamName
  readonly from: EpochSeconds | null
  readonly to: EpochSeconds | null
  readonly reason: string
  /** Identifies the gap if its times and its reason do not: the same key found twice is one gap. */
  readonly dedupKey?: string | undefined
}

/** An observed, undocumented behaviour of the service, and the evidence for it. */
export type ServiceBehaviour = {
  readonly name: string
  readonly value: string
  readonly evidence: string
}

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
