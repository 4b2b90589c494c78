/**
 * What the naive model is given: the mirrored rows of a project, named as in the warehouse, and its
 * analytics settings.
 */

/** RFC 3339 in UTC, whole seconds. */
export type Time = string
/** `YYYY-MM-DD`. */
export type ModelDate = string

export type RawConversation = {
  id: string
  visitor_id: string | null
  origin: string | null
  assigned_agent_id: string | null
  created_at: Time | null
  handled_at: Time | null
  /** Null: the service names no time of the last message. */
  last_message_at: Time | null
  deleted_at: Time | null
  messages_complete: boolean | null
}

export type MessageRow = {
  conversation_id: string
  id: number
  sender_type: string | null
  kind: string | null
  sender_display_name: string | null
  created_at: Time | null
  deleted_at: Time | null
}

export type ChangeRow = {
  id: string
  conversation_id: string
  field: string
  old_value: string | null
  new_value: string | null
  seen_at: Time
  old_read_at: Time
}

export type SnapshotRow = {
  read_at: Time
  available: boolean | null
  agents_online: number | null
}

export type ActivityRow = {
  visitor_id: string
  entry_hash: string
  ordinal: number
  occurred_at: Time | null
  deleted_at: Time | null
  /** The undocumented field `url` of the entry. */
  page: string | null
}

/** Opening and closing time of one stretch, `9:00` to `24:00`. */
export type OpenHours = readonly [opens: string, closes: string]

export type ModelTarget = {
  readonly name: string
  readonly clock: 'any' | 'human'
  readonly which: 'first' | 'every'
  readonly seconds: number
  readonly hours: 'all' | 'business'
  /**
   * It applies to waits that begin from this day on, until a later target of the same name begins.
   */
  readonly from: ModelDate
}

export type ModelSettings = {
  readonly timeZone: string
  /** By weekday, 1 = Monday; a missing day is closed. Null: open round the clock. */
  readonly weekly: Readonly<Record<number, readonly OpenHours[]>> | null
  /** Replaces the hours of these days. */
  readonly holidays: Readonly<Record<ModelDate, readonly OpenHours[]>>
  readonly roles: Readonly<Record<string, 'visitor' | 'human' | 'ai'>>
  readonly mirroredSince: Time
  readonly targets: readonly ModelTarget[]
}

export type ProjectRows = {
  readonly project: string
  readonly settings: ModelSettings
  readonly conversations: RawConversation[]
  readonly messages: MessageRow[]
  readonly changes: ChangeRow[]
  readonly snapshots: SnapshotRow[]
  readonly activity: ActivityRow[]
}

/** A row that the model expects of a table or view; times are RFC 3339 text. */
export type ModelRow = Readonly<Record<string, string | number | boolean | null>>

export const seconds = (time: Time): number => Date.parse(time) / 1000

export const toTime = (at: number): Time => `${new Date(at * 1000).toISOString().slice(0, 19)}Z`
