/** The service’s wire types, made from openapi.yaml by generate.ts. Do not edit. */

/**
 * RFC 3339 in whole seconds, `YYYY-MM-DDThh:mm:ssZ`.
 */
export type Timestamp = string
/**
 * Quote it when contacting support.
 */
export type RequestId = string
/**
 * The documented codes.
 */
export type ErrorCode =
  | 'api_key_missing'
  | 'api_key_invalid'
  | 'api_key_wrong_project'
  | 'api_key_scope_missing'
  | 'VALIDATION_ERROR'
  | 'NOT_FOUND'
  | 'rate_limited'

/**
 * Every schema of the service by its name.
 */
export interface Wire {
  Timestamp: Timestamp
  RequestId: RequestId
  Availability: Availability
  Conversation: Conversation
  Message: Message
  Visitor: Visitor
  ActivityEntry: ActivityEntry
  Call: Call
  Recording: Recording
  Rollup: Rollup
  MessageRequest: MessageRequest
  HandledRequest: HandledRequest
  VisitorRequest: VisitorRequest
  NoteRequest: NoteRequest
  WidgetTokenRequest: WidgetTokenRequest
  ErrorCode: ErrorCode
  Failure: Failure
  Context: Context
  FailureAnswer: FailureAnswer
  ConversationListAnswer: ConversationListAnswer
  MessageListAnswer: MessageListAnswer
  VisitorListAnswer: VisitorListAnswer
  ActivityListAnswer: ActivityListAnswer
  CallListAnswer: CallListAnswer
  ConversationAnswer: ConversationAnswer
  VisitorAnswer: VisitorAnswer
  CallAnswer: CallAnswer
  RecordingAnswer: RecordingAnswer
  RollupAnswer: RollupAnswer
  AvailabilityAnswer: AvailabilityAnswer
  WriteAnswer: WriteAnswer
}
export interface Availability {
  projectId: string
  available: boolean
  agentsOnline: number
  [k: string]: unknown
}
export interface Conversation {
  id: string
  projectId: string
  visitorId: string
  /**
   * Always `open`. `handledAt` tells open work from finished work.
   */
  status: string
  createdAt: Timestamp
  lastMessageAt: Timestamp
  /**
   * Value `agent` occurs; others are not documented.
   */
  lastMessageSenderType: string
  /**
   * Null means not handled.
   */
  handledAt: Timestamp | null
  waitingSince: Timestamp | null
  assignedAgentId: string | null
  /**
   * Value `visitor_initiated` occurs; others are not documented.
   */
  origin: string
  [k: string]: unknown
}
export interface Message {
  id: number
  conversationId: string
  /**
   * Value `agent` occurs; others are not documented.
   */
  senderType: string
  /**
   * `utterance`: a person or the AI said it. Every other kind is a system event.
   */
  kind: string
  content: string
  senderDisplayName: string
  createdAt: Timestamp
  [k: string]: unknown
}
/**
 * Fields beyond name and email are not documented.
 */
export interface Visitor {
  name: string | null
  email: string | null
  [k: string]: unknown
}
/**
 * The fields are not documented.
 */
export interface ActivityEntry {
  [k: string]: unknown
}
/**
 * The fields are not documented.
 */
export interface Call {
  [k: string]: unknown
}
/**
 * Fields beyond hasRecording are not documented.
 */
export interface Recording {
  /**
   * False for a call without a recording.
   */
  hasRecording: boolean
  [k: string]: unknown
}
/**
 * The fields are not documented.
 */
export interface Rollup {
  [k: string]: unknown
}
export interface MessageRequest {
  content: string
  /**
   * The name that the visitor sees.
   */
  senderName: string
  [k: string]: unknown
}
export interface HandledRequest {
  /**
   * False reopens.
   */
  handled: boolean
  [k: string]: unknown
}
export interface VisitorRequest {
  name: string | null
  email: string | null
  [k: string]: unknown
}
/**
 * The fields are not documented.
 */
export interface NoteRequest {
  [k: string]: unknown
}
export interface WidgetTokenRequest {
  visitor?: {
    email?: string
    name?: string
    company?: string
    [k: string]: unknown
  }
  /**
   * Free-form pairs about the visitor session.
   */
  metadata?: {
    [k: string]: unknown
  }
  /**
   * Lifetime of the token in seconds.
   */
  ttl?: number
  [k: string]: unknown
}
export interface Failure {
  /**
   * An ErrorCode; codes of server-side faults are not documented.
   */
  code: string
  /**
   * Names the missing scope of an api_key_scope_missing.
   */
  message: string
  /**
   * The HTTP status.
   */
  status: number
  /**
   * Its value for each code is not documented.
   */
  retryable?: boolean
  context?: Context
  [k: string]: unknown
}
/**
 * Where exactly it stands in the answer is not documented.
 */
export interface Context {
  /**
   * The offending fields of a VALIDATION_ERROR. The shape of an issue is not documented.
   */
  issues?: unknown[]
  [k: string]: unknown
}
export interface FailureAnswer {
  error: Failure
  context?: Context
  requestId: RequestId
  [k: string]: unknown
}
export interface ConversationListAnswer {
  data: {
    items: Conversation[]
    hasMore: boolean
    [k: string]: unknown
  }
  requestId: RequestId
  [k: string]: unknown
}
export interface MessageListAnswer {
  data: {
    items: Message[]
    hasMore: boolean
    [k: string]: unknown
  }
  requestId: RequestId
  [k: string]: unknown
}
export interface VisitorListAnswer {
  data: {
    items: Visitor[]
    hasMore: boolean
    [k: string]: unknown
  }
  requestId: RequestId
  [k: string]: unknown
}
export interface ActivityListAnswer {
  data: {
    items: ActivityEntry[]
    hasMore: boolean
    [k: string]: unknown
  }
  requestId: RequestId
  [k: string]: unknown
}
export interface CallListAnswer {
  data: {
    items: Call[]
    hasMore: boolean
    [k: string]: unknown
  }
  requestId: RequestId
  [k: string]: unknown
}
export interface ConversationAnswer {
  data: Conversation
  requestId: RequestId
  [k: string]: unknown
}
export interface VisitorAnswer {
  data: Visitor
  requestId: RequestId
  [k: string]: unknown
}
export interface CallAnswer {
  data: Call
  requestId: RequestId
  [k: string]: unknown
}
export interface RecordingAnswer {
  data: Recording
  requestId: RequestId
  [k: string]: unknown
}
export interface RollupAnswer {
  data: Rollup
  requestId: RequestId
  [k: string]: unknown
}
export interface AvailabilityAnswer {
  data: Availability
  requestId: RequestId
  [k: string]: unknown
}
export interface WriteAnswer {
  /**
   * Not documented.
   */
  data: {
    [k: string]: unknown
  }
  requestId: RequestId
  [k: string]: unknown
}
