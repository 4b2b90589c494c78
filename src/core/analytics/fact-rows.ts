/**
 * The rows of the facts, with the names of their columns. A derived row has no `project_id`: the derivation knows of one
 * project only. Times are seconds since 1970, dates `YYYY-MM-DD` and hours 0 to 23 on the project's clock.
 */
import type { EpochSeconds, Seconds } from '../time.ts'
import type { Role } from './conversation-history.ts'

export type LocalDate = string

/** The roles whose messages make up a conversation. */
export type SpeakerRole = 'visitor' | 'human' | 'ai'

/** Who or what ended a wait. `handled`: the conversation was handled before an answer. `nobody`: it goes on. */
type WaitEnd = 'human' | 'ai' | 'handled' | 'nobody'

/** A visitor waits from the first message of a run of messages that no human or AI utterance and no handling interrupts. */
export type WaitRow = {
  readonly conversation_id: string
  /** 1 = the first of the conversation. */
  readonly wait_number: number
  readonly started_at: EpochSeconds
  readonly started_date: LocalDate
  readonly started_hour: number
  /** From when on the conversation was open during the wait; null = it was handled all the time. */
  readonly open_from_date: LocalDate | null
  readonly open_from_hour: number | null
  /** Messages of the visitor in the run. */
  readonly messages: number
  readonly ended_by: WaitEnd
  readonly ended_at: EpochSeconds | null
  readonly ended_date: LocalDate | null
  readonly ended_hour: number | null
  readonly ended_by_name: string | null
  /** To the next human or AI utterance. */
  readonly answer_seconds: Seconds | null
  readonly answer_business_seconds: Seconds | null
  /** Only on the first wait since the last human utterance or handling, so that each human answer stands in one row. */
  readonly human_answered_at: EpochSeconds | null
  readonly human_answered_date: LocalDate | null
  readonly human_answered_hour: number | null
  readonly human_name: string | null
  readonly human_seconds: Seconds | null
  readonly human_business_seconds: Seconds | null
  /** AI turns that answered the visitor before the human did. */
  readonly ai_answers: number | null
  /** Null without AI answers. */
  readonly after_ai_seconds: Seconds | null
  readonly after_ai_business_seconds: Seconds | null
}

/** How exactly the beginning of a state is known; `service`: the service's own time of the handling. */
export type StateBeginning = 'created' | 'service' | 'message' | 'seen'

/** A span in which a conversation was open or handled. The last one has no end. */
export type StateRow = {
  readonly conversation_id: string
  /** Odd = open. */
  readonly state_number: number
  readonly state: 'open' | 'handled'
  readonly from_at: EpochSeconds
  readonly from_date: LocalDate
  readonly from_hour: number
  readonly began_by: StateBeginning
  readonly to_at: EpochSeconds | null
  readonly to_date: LocalDate | null
  readonly seconds: Seconds | null
  readonly business_seconds: Seconds | null
}

/** How many messages each writer wrote in a conversation on one day. Messages without a time are in no row. */
export type ContributionRow = {
  readonly conversation_id: string
  readonly date: LocalDate
  readonly role: Role
  /** Of humans and AI; else ''. */
  readonly name: string
  readonly messages: number
  readonly first_at: EpochSeconds
}

export type AnsweredBy = 'nobody' | 'human' | 'ai' | 'human and ai'

export type ConversationRow = {
  readonly conversation_id: string
  readonly visitor_id: string | null
  readonly origin: string | null
  readonly assigned_agent_id: string | null
  readonly created_at: EpochSeconds | null
  readonly created_date: LocalDate | null
  readonly created_hour: number | null
  /** All messages are known, each has a time, and each utterance a known role. */
  readonly is_complete: boolean
  readonly is_open: boolean
  readonly opened_by: SpeakerRole | null
  readonly answered_by: AnsweredBy
  readonly messages: number
  readonly visitor_messages: number
  readonly human_messages: number
  readonly ai_messages: number
  readonly other_messages: number
  readonly system_events: number
  readonly waits: number
  readonly human_turns: number
  readonly first_visitor_at: EpochSeconds | null
  readonly first_answer_seconds: Seconds | null
  readonly first_answer_business_seconds: Seconds | null
  readonly first_human_at: EpochSeconds | null
  readonly first_human_name: string | null
  readonly first_human_seconds: Seconds | null
  readonly first_human_business_seconds: Seconds | null
  readonly human_names: number
  /** From the first to the last human utterance, pauses included; null = no human wrote. */
  readonly human_span_seconds: Seconds | null
  readonly last_human_name: string | null
  readonly last_utterance_at: EpochSeconds | null
  readonly last_utterance_by: SpeakerRole | null
  readonly longest_wait_seconds: Seconds | null
  readonly total_wait_seconds: Seconds | null
  readonly total_human_wait_seconds: Seconds | null
  readonly waiting_since: EpochSeconds | null
  readonly handled_at: EpochSeconds | null
  readonly handled_date: LocalDate | null
  readonly handled_seconds: Seconds | null
  readonly handled_business_seconds: Seconds | null
  readonly first_handled_at: EpochSeconds | null
  readonly first_handled_seconds: Seconds | null
  readonly reopens_seen: number
  /** Since when changes of the conversation were watched. */
  readonly history_from: EpochSeconds
  readonly history_complete: boolean
  readonly is_one_touch: boolean
}

/** A run of a visitor's activity without a longer gap. */
export type VisitRow = {
  readonly visitor_id: string
  /** 1 = the first of the visitor. */
  readonly visit_number: number
  readonly started_at: EpochSeconds
  readonly started_date: LocalDate
  readonly ended_at: EpochSeconds
  readonly entries: number
  readonly seconds: Seconds
  /** Null: no entry names a page. */
  readonly first_page: string | null
  readonly last_page: string | null
}

/** An hour that occurs twice when the clocks change is one row. */
export type AvailabilityHourRow = {
  readonly date: LocalDate
  readonly hour: number
  /** Taken within the hour; 0 if an earlier one still holds. */
  readonly snapshots: number
  readonly observed_seconds: Seconds
  readonly available_seconds: Seconds
  /** Seconds times agents online. */
  readonly agent_seconds: Seconds
  /** Null: no snapshot that holds in the hour names a number. */
  readonly agents_min: number | null
  readonly agents_max: number | null
}

/** UTC offset since a moment. */
export type ZoneOffsetRow = {
  readonly from_s: EpochSeconds
  /** East of UTC. */
  readonly offset_s: Seconds
}

/** Spans that touch are one. */
export type BusinessSpanRow = {
  readonly opens_s: EpochSeconds
  readonly closes_s: EpochSeconds
  /** Open seconds since 2000-01-01T00:00:00Z before this span. */
  readonly seconds_before: Seconds
}

export type DateRow = {
  readonly date: LocalDate
  /** Its first moment, and that of the next date. */
  readonly starts_at: EpochSeconds
  readonly ends_at: EpochSeconds
  /** 1 = Monday … 7. */
  readonly weekday: number
  /** The first date of each. */
  readonly week: LocalDate
  readonly month: LocalDate
  readonly quarter: LocalDate
  readonly year: number
  /** `2025-W07`. */
  readonly iso_week: string
  readonly is_weekend: boolean
  readonly is_holiday: boolean
  readonly business_seconds: Seconds
}

/** A target holds for waits that began on `from_date` or later, and before `to_date`; null = still. */
export type SlaRow = {
  readonly name: string
  readonly clock: 'any' | 'human'
  readonly which: 'first' | 'every'
  readonly target_seconds: Seconds
  readonly in_business: boolean
  readonly from_date: LocalDate
  readonly to_date: LocalDate | null
}

/** The role of a sender type that messages have. */
export type SenderTypeRow = {
  readonly sender_type: string
  readonly role: SpeakerRole | 'other'
}
