/** Corrects a visitor. Leaves the other field unchanged, and gives way to someone else's newer edit. */
import type { ApiResponse } from '../../service/core/api-request.ts'
import { asJsonObject, type Json } from '../../values/json.ts'
import { editableFields, findForeignEdit, isSameValue, type VisitorFields } from '../core/review-guards.ts'
import { findVisitorViolation } from './conversation-snapshot.ts'
import { type CreateHandler, readTarget } from './operation-handler.ts'

export const createVisitorHandler: CreateHandler<'visitor'> = ({ payload, expect }) => ({
  method: 'PATCH',
  path: '',
  verifyDelayFactor: 0.1,
  checkPrecondition: async (task) => {
    const { deps, writeback } = task
    const why = await findVisitorViolation(task, expect)
    if (why !== null) return { canSend: false, event: 'conflicted', why }
    const live = toProfile(await readTarget(task))
    const body: Record<string, Json> = {}
    for (const field of editableFields) {
      const value = payload[field] === undefined ? live[field] : payload[field]
      if (value === undefined) {
        const why = `the service does not show the visitor's ${field}, so it cannot be left unchanged`
        return { canSend: false, event: 'invalid', why }
      }
      body[field] = value
    }
    const own = await deps.outbox.findOwnEdits(writeback)
    const facts = { seen: writeback.targetSnapshot, before: writeback.evidence.before, ...own }
    const edit = findForeignEdit(payload, live, facts)
    if (edit !== null) return { canSend: false, event: 'conflicted', why: edit }
    return { canSend: true, body, before: { name: live.name ?? null, email: live.email ?? null } }
  },
  verify: async (task) => {
    const { before, statedResult } = task.writeback.evidence
    const live = toProfile(await readTarget(task))
    const wantedFields = editableFields.filter((field) => payload[field] !== undefined)
    const isDone = wantedFields.every((field) => isSameValue(live[field], payload[field]))
    const wasSame = wantedFields.every((field) => isSameValue(before?.[field], payload[field]))
    // If it was already so before the send, the state proves nothing unless the service responded. Sending again is harmless.
    if (!isDone || (wasSame && statedResult === undefined)) return { kind: 'absent' }
    return { kind: 'found', how: `the visitor's ${wantedFields.join(' and ')} matches the request` }
  },
})

/** Fields that the service does not show are absent. */
function toProfile(response: ApiResponse): VisitorFields {
  const fields = asJsonObject(response.data)
  const text = (value: Json | undefined) => (typeof value === 'string' || value === null ? value : undefined)
  const [name, email] = [text(fields?.name), text(fields?.email)]
  return { ...(name === undefined ? {} : { name }), ...(email === undefined ? {} : { email }) }
}
