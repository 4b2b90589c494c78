/** A row of `writebacks` as the database holds it, and the values in it. */
import type { RawBuilder } from 'kysely'
import { z } from 'zod'
import type { DatabaseKind } from '../../../schema/column-types.ts'
import { stringifyJson } from '../../core/json.ts'
import type { Evidence, TargetSnapshot, Writeback } from '../../core/outbox/repository.ts'
import type { Revocation, WritebackStatus } from '../../core/outbox/state.ts'
import { targetKind, type Operation } from '../../core/outbox/writeback-request.ts'
import type { Json } from '../../core/row.ts'
import { typedParameter } from '../database/dialect.ts'
import { decodeJson, decodeText, encodeJson } from '../database/escape.ts'
import { isOwnerDead } from './claim-owner.ts'

export type OutboxRow = {
  id: string
  lane: string
  operation: Operation
  conversation_id: string | null
  visitor_id: string | null
  payload: string
  status: WritebackStatus
  attempts: number
  batch_id: string | null
  expect: string | null
  created_at: string
  expires_at: string | null
  seen: string | null
  evidence: string | null
  epoch: number
  owner: string | null
  revoked_as: Revocation | null
}

/** Of one that was sent: what can still be expected of the process that sent it. */
export function senderState(kind: DatabaseKind, row: OutboxRow): Pick<Evidence, 'sender'> {
  if (row.status !== 'sending' || decodeEvidence(kind, row.evidence).sender !== undefined) return {}
  if (row.owner === null) return { sender: 'ended' }
  return { sender: isOwnerDead(row.owner, kind) ? 'dead' : 'silent' }
}

/** As it is once it is claimed, with that claim's number. */
export function toWriteback(kind: DatabaseKind, row: OutboxRow, evidence: Evidence): Writeback {
  const targetColumn = `${targetKind[row.operation]}_id` as const
  const payload: Record<string, unknown> = JSON.parse(decodeJson(kind, row.payload))
  return {
    id: row.id,
    lane: row.lane,
    operation: row.operation,
    target: row[targetColumn] ?? '',
    rawRequest: {
      operation: row.operation,
      [targetColumn]: row[targetColumn],
      ...payload,
      ...(row.expect === null ? {} : { expect: row.expect }),
      ...(row.expires_at === null ? {} : { expires_at: row.expires_at }),
    },
    status: row.status,
    revokedAs: row.status === 'sending' ? row.revoked_as : null,
    attempts: row.attempts,
    batchId: row.batch_id,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    targetSnapshot: row.seen === null ? null : decodeSnapshot(JSON.parse(decodeJson(kind, row.seen))),
    evidence,
    epoch: row.epoch + 1,
  }
}

/** The mirror's columns hold some characters escaped. */
function decodeSnapshot(snapshot: Readonly<Record<string, string | null>>): TargetSnapshot {
  return Object.fromEntries(Object.entries(snapshot).map(([name, text]) => [name, text === null ? null : decodeText(text)]))
}

/** It holds words of the service and of visitors: whatever characters those are. */
export function encodeEvidence(kind: DatabaseKind, evidence: Evidence): RawBuilder<string> {
  return typedParameter(kind, 'json', encodeJson(kind, stringifyJson(evidence as Json)))
}

const text = z.string()
const evidenceSchema = z
  .looseObject({
    before: z
      .looseObject({
        since: text,
        ids: z.array(text),
        handledAt: text.nullable(),
        name: text.nullable(),
        email: text.nullable(),
      })
      .partial(),
    sender: z.enum(['ended', 'dead', 'silent']),
    claim: z.object({ says: z.enum(['accepted', 'refused']), why: text }),
    looks: z.number(),
    tries: z.number(),
    refusedFields: z.array(text),
    firstRefusal: text,
    status: z.number(),
    found: text,
  })
  .partial()

/** Somebody may have put anything there by SQL: that is as good as nothing. */
export function decodeEvidence(kind: DatabaseKind, stored: string | null): Evidence {
  if (stored === null) return {}
  try {
    return evidenceSchema.parse(JSON.parse(decodeJson(kind, stored))) as Evidence
  } catch {
    return {}
  }
}
