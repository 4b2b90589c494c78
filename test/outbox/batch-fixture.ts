/** An outbox with batches of flags, without a service. */

import { onTestFinished } from 'vitest'
import type { Warehouse } from '../../src/app/open.ts'
import type { DecisionReport } from '../../src/outbox/core/decision-terms.ts'
import type { Writeback } from '../../src/outbox/core/outbox-entry.ts'
import type { WritebackRequest } from '../../src/outbox/core/writeback-request.ts'
import { executeDecision } from '../../src/outbox/decide.ts'
import type { EnqueueOptions } from '../../src/outbox/sql/enqueue.ts'
import type { Outbox } from '../../src/outbox/sql/outbox.ts'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'
import type { TestDatabase } from '../support/databases.ts'

export const project = '4275aaa4-dbe0-4a36-ae44-c66fe62af552'

export const conversation = (n: number) =>
  `${String(n).padStart(8, '0')}-5a2b-4c3d-8e9f-0a1b2c3d4e5f`

export async function openOutbox(database: TestDatabase) {
  const place = await database.make()
  onTestFinished(() => place.drop())
  const warehouse = await place.open()
  return {
    place,
    warehouse,
    admin: createOutbox(warehouse.projectDb(project)),
    outbox: createOutbox(warehouse.projectDb(project)),
  }
}

export function flag(n: number, own: Partial<WritebackRequest> = {}): WritebackRequest {
  const payload = { handled: true }
  const request = {
    operation: 'handled',
    target: conversation(n),
    payload,
    ref: null,
    expect: null,
    expiresAt: null,
  }
  return { ...request, ...own } as WritebackRequest
}

/** The batch `flags`, with as many flags, each for its own conversation; returns their ids. */
export async function queueFlags(
  admin: Outbox,
  rows: number,
  options: Partial<EnqueueOptions> = {},
) {
  const queued = {
    status: 'queued',
    batchId: 'flags',
    createdBy: 'ann',
    expiresAt: null,
    ...options,
  } as const
  const chunks = []
  for (let from = 0; from < rows; from += 200)
    chunks.push(Array.from({ length: Math.min(200, rows - from) }, (_, n) => flag(from + n)))
  const result = await admin.enqueue(chunks, queued)
  return 'ids' in result ? result.ids : []
}

export function insertFlag(warehouse: Warehouse, row: Readonly<Record<string, string | null>>) {
  const all = {
    project_id: project,
    operation: 'handled',
    conversation_id: conversation(99),
    ...row,
  }
  const quoted = Object.values({ ...all, payload: '{"handled":true}' }).map((text) =>
    text === null ? 'null' : `'${text}'`,
  )
  return warehouse.query(
    `insert into writebacks (${Object.keys(all).join(', ')}, payload) values (${quoted.join(', ')})`,
  )
}

/** Claims the first write-back that can be claimed. */
export async function claimFirst(outbox: Outbox): Promise<Writeback> {
  const [first] = await outbox.findClaimable(Date.now(), 1)
  const claimed = await outbox.claim(first!.id, Date.now())
  return claimed!
}

/** Whether it may be sent. */
export function markSending(outbox: Outbox, writeback: Writeback): Promise<boolean> {
  return outbox.markSending(
    writeback,
    { before: { handledAt: null } },
    Date.now(),
    Date.now() + 60_000,
  )
}

/** A decision that names no digest. */
export async function decideRows(
  ...decision: Parameters<typeof executeDecision>
): Promise<Omit<DecisionReport, 'project'>> {
  const report = await executeDecision(...decision)
  if ('outcome' in report) throw new Error('nothing was decided')
  return report
}
