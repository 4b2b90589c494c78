/** Write-backs that pages show and people decide about, queued as drafts of olga. */
import type { Warehouse } from '../../src/app/open.ts'
import type { WritebackRequest } from '../../src/outbox/core/writeback-request.ts'
import type { EnqueueOptions } from '../../src/outbox/sql/enqueue.ts'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'

const unconditional = { ref: null, expect: null, expiresAt: null }

export const flagOn = (target: string) =>
  ({ ...unconditional, operation: 'handled', target, payload: { handled: true } }) as const

export const replyTo = (target: string, content: string) =>
  ({
    ...unconditional,
    operation: 'message',
    target,
    payload: { content, sender_name: 'Ann' },
  }) as const

/** `title`: of a batch with words about it. */
export async function queueDrafts(
  warehouse: Warehouse,
  batchId: string,
  rows: readonly WritebackRequest[],
  { title, ...over }: Partial<EnqueueOptions> & { readonly title?: string } = {},
) {
  const batch = title && { title, source: 'test', note: null, reverts: null }
  const common = { status: 'draft', batchId, createdBy: 'olga', expiresAt: null } as const
  const options = { ...common, ...(batch && { batch }), ...over }
  return createOutbox(warehouse.projectDb('main')).enqueue([rows], options)
}
