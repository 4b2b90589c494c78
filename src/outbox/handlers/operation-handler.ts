/**
 * What each operation defines so that it can be checked, sent and verified, and what that needs.
 */

import type { MirrorRow } from '../../../schema/row.ts'
import type { Logger } from '../../log.ts'
import { conversations, messages, visitors } from '../../mirror/core/streams.ts'
import type { Mirror } from '../../mirror/mirror.ts'
import type { ApiFailure } from '../../service/core/api-failure.ts'
import type { ApiGet, ApiRequest, ApiResponse } from '../../service/core/api-request.ts'
import { toListShape } from '../../service/core/row-by-id-shape.ts'
import { asJsonObject, type Json } from '../../values/json.ts'
import type { ColumnRules } from '../../values/private-columns.ts'
import type { ProjectId } from '../../values/project.ts'
import type { EpochMs, Ms } from '../../values/time.ts'
import { type Operation, operationTypes } from '../core/operations.ts'
import type { Evidence, Transition, Writeback } from '../core/outbox-entry.ts'
import type { WritebackRequest } from '../core/writeback-request.ts'
import type { Outbox } from '../sql/outbox.ts'

/** `before`: the target as the service shows it now. */
export type ReadyToSend = {
  readonly body: Json
  readonly before: NonNullable<Evidence['before']>
}

/** Why it is not sent. `invalid`: no target, or it cannot be. `unverifiable`: it may be done. */
export type Obstruction = Transition & {
  readonly event: 'conflicted' | 'invalid' | 'unverifiable'
}

/** Whether a send without a response arrived. `found`: `why` says how. */
export type Verification = Transition & { readonly event: 'found' | 'absent' | 'unverifiable' }

/** It did not arrive, and sending it again would not duplicate it. */
export const absent = { event: 'absent', why: 'it was not found' } as const

/** A claimed write-back, and what is needed to work on it. */
export type Task = { readonly deps: WritebackDeps; readonly writeback: Writeback }

export type CreateHandler<O extends Operation> = (request: WritebackRequest<O>) => OperationHandler

export type OperationHandler = {
  readonly method: 'POST' | 'PATCH'
  /** Below that of its target. */
  readonly path: `/${string}` | ''
  /** Throws ApiError. */
  readonly checkPrecondition: (task: Task) => Promise<ReadyToSend | Obstruction>
  /** Throws ApiError. */
  readonly verify: (task: Task) => Promise<Verification>
  /** Delay before verification as a fraction of `verifyAfterMs`; 0 if it cannot be verified. */
  readonly verifyDelayFactor: number
  /** For a refusal that tells how to correct the request; null if it stands. */
  readonly interpretRefusal?: (
    task: Task,
    refusal: Extract<ApiFailure, { kind: 'refused' }>,
    sent: Json,
  ) => Promise<Transition | null>
  /** What an accepted request shows about the service. */
  readonly toObservedBehaviours?: (sent: Json) => Transition['observedBehaviours']
  /** What an answer or the target shows instead of what was accepted; null: nothing. */
  readonly findContradiction?: (task: Task, shown: Json) => string | null
  /** The id of the message that it created; null if unknown. Throws ApiError. */
  readonly findMessageId?: (task: Task, response: ApiResponse) => Promise<string | null>
}

export type WritebackDeps = {
  readonly projectId: ProjectId
  readonly get: ApiGet
  /**
   * Sends one HTTP request and never repeats it, if `markSending`, called when the rate limit
   * allows it, returns true. Throws ApiError.
   */
  readonly send: (request: ApiRequest, markSending: () => Promise<boolean>) => Promise<ApiResponse>
  /** Whether the service answers for the project now, so that what failed is not an outage. */
  readonly isProjectServed: () => Promise<boolean>
  readonly outbox: Outbox
  readonly mirror: Pick<Mirror, 'commit' | 'readRawById'>
  /** What the mirror may store of what `get` and `send` show. */
  readonly columns: ColumnRules
  /** As the settings say now: by these, live and mirrored values are compared. */
  readonly compared: ColumnRules
  /** Delay before a reply without a response is verified. */
  readonly verifyAfterMs: Ms
  /** Whether a reply that two verifications did not find is sent again; else a person decides. */
  readonly resendReplies: boolean
  readonly now: () => EpochMs
  /** From 0 to below 1. */
  readonly random: () => number
  /** Once aborted, no new send starts; sends in flight are finished. */
  readonly signal: AbortSignal
  /** Never receives text that a person wrote. */
  readonly log: Pick<Logger, 'debug' | 'info' | 'warn'>
}

const targetLists = { conversation: conversations, visitor: visitors } as const

export function targetPath(
  { projectId }: WritebackDeps,
  { operation, target }: Pick<Writeback, 'operation' | 'target'>,
): string {
  return targetLists[operationTypes[operation].target].rowPath(projectId, target)
}

/** Throws ApiError. */
export function readTarget({ deps, writeback }: Task): Promise<ApiResponse> {
  return deps.get(targetPath(deps, writeback), {}, 'write')
}

/** The record in an answer: all of it, or a part that is named after the target. */
export function findShown(
  { writeback }: Task,
  answer: Json,
): Readonly<Record<string, Json>> | null {
  const fields = asJsonObject(answer)
  return asJsonObject(fields?.[operationTypes[writeback.operation].target]) ?? fields
}

/** What a conversation shows of its last message and its handling. */
export function readTrace(conversation: Pick<ApiResponse, 'data'>) {
  const fields = asJsonObject(conversation.data)
  const textOrNull = (name: string) => (fields?.[name] == null ? null : String(fields[name]))
  return {
    handledAt: textOrNull('handledAt'),
    lastMessageAt: textOrNull('lastMessageAt'),
    lastMessageSenderType: textOrNull('lastMessageSenderType'),
  }
}

/** Makes a write-back visible before the next sync; returns the target. Throws ApiError. */
export async function refreshTarget(task: Task): Promise<Json> {
  const { deps, writeback } = task
  const { name: stream, parseRows } = targetLists[operationTypes[writeback.operation].target]
  const { data, requestedAt } = await readTarget(task)
  const stored = (await deps.mirror.readRawById(stream, [writeback.target])).get(writeback.target)
  const kept = deps.columns.keep(stream, data)
  const { rows } = parseRows([toListShape(stored, kept)], deps.projectId)
  await deps.mirror.commit({ stream, rows, requestedAt, isAuthoritative: true })
  return data
}

export async function storeMessages(
  { deps: { columns, mirror }, writeback: { target } }: Task,
  {
    rows: live,
    requestedAt,
  }: { rows: readonly Pick<MirrorRow<Json>, 'item'>[]; requestedAt: EpochMs },
): Promise<void> {
  const items = live.map(({ item }) => columns.keep('messages', item))
  const { rows } = messages.parseRows(items, target)
  await mirror.commit({ stream: 'messages', rows, requestedAt })
}

/** It was sent, no response proved its outcome, and no person has queued it again since. */
export function isInDoubt({ attempts, evidence }: Writeback): boolean {
  return attempts > 0 && evidence.before !== undefined
}

/** What was so before proves nothing: unless the service said something, it is sent again once. */
export function needsAnswer({ writeback: { attempts, evidence } }: Task): boolean {
  return attempts < 2 && evidence.statedResult === undefined
}
