/** A write-back as its row is decoded. */
import type { Operation } from '../../src/outbox/core/operations.ts'
import type { Writeback } from '../../src/outbox/core/outbox-entry.ts'
import { parseRequest } from '../../src/outbox/core/writeback-request.ts'

const conversation = '7d1f4f6e-5a2b-4c3d-8e9f-0a1b2c3d4e5f'

/** `line`: as in an import. */
export function storedWriteback(
  line: { readonly operation: Operation; readonly [field: string]: unknown },
  own: Partial<Writeback> = {},
): Writeback {
  const target = String(line.conversation_id ?? line.visitor_id ?? conversation)
  return {
    id: line.operation,
    seq: 1,
    lane: `lane/${target}`,
    operation: line.operation,
    target,
    request: parseRequest(line),
    status: 'queued',
    attempts: 0,
    batchId: null,
    sourceRow: null,
    createdAt: '2026-05-31T12:00:00Z',
    sentAt: null,
    finishedAt: null,
    expiresAt: null,
    fencingToken: 0,
    revokedAs: null,
    targetSnapshot: null,
    evidence: {},
    ...own,
  }
}
