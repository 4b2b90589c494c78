/** Corrects a visitor's name or email: keeps what is not meant to change, and yields to somebody else's newer edit. */

import type { ApiResponse } from '../../core/api-request.ts'
import type { Json } from '../../core/row.ts'
import { toListShape } from '../../core/list-shape.ts'
import { asJsonObject } from '../../streams/item.ts'
import { visitors } from '../../streams/visitors.ts'
import type { WritebackDeps } from '../deps.ts'
import type { OperationHandler } from './operation-handler.ts'
import { findVisitorViolation } from './visitor-precondition.ts'

const editableFields = ['name', 'email'] as const

export const visitorHandler: OperationHandler<'visitor'> = {
  method: 'PATCH',
  path: visitors.rowPath,
  isIdempotent: true,
  verifyDelayFactor: 0.1,
  guard: async (deps, writeback, { payload, expect }) => {
    const why = await findVisitorViolation(deps, writeback, expect)
    if (why !== null) return { canSend: false, event: 'overtaken', why }
    const live = toProfile(await readVisitor(deps, writeback.target))
    const body: Record<string, Json> = {}
    for (const field of editableFields) {
      const [wanted, is] = [payload[field], live[field]]
      if (wanted === undefined && is === undefined)
        return {
          canSend: false,
          event: 'unfit',
          why: `the service does not show the visitor's ${field}, so it cannot be kept`,
        }
      const own = wanted === undefined ? undefined : await deps.outbox.findOwnEdit(writeback, field)
      // Sent before, and not there: somebody may have edited it since.
      const known = writeback.evidence.before?.[field]
      const was = own === undefined ? (known ?? writeback.targetSnapshot?.[field]) : own
      // What the service made of what we sent.
      const isOurs = (known !== undefined && isSameText(is, wanted)) || (own !== undefined && isSameText(is, own))
      if (wanted !== undefined && is !== undefined && was !== undefined && is !== was && is !== wanted && !isOurs)
        return { canSend: false, event: 'overtaken', why: `somebody changed the ${field} since it was queued` }
      body[field] = wanted === undefined ? (is ?? null) : wanted
    }
    return { canSend: true, body, before: { name: live.name ?? null, email: live.email ?? null } }
  },
  verify: async (deps, writeback, { payload }) => {
    const live = toProfile(await readVisitor(deps, writeback.target))
    const before = writeback.evidence.before
    const wantedFields = editableFields.filter((field) => payload[field] !== undefined)
    const isDone = wantedFields.every((field) => isSameText(live[field], payload[field]))
    const wasSo = wantedFields.every((field) => isSameText(before?.[field], payload[field]))
    // Where it had been so before, that it is so proves nothing, unless the service has answered; once more does no harm.
    const wasDone = wasSo && writeback.evidence.claim === undefined
    if (!isDone || wasDone) return { kind: 'absent' }
    return { kind: 'found', how: `the visitor's ${wantedFields.join(' and ')} is as it was sent` }
  },
  refreshTarget: async (deps, writeback) => {
    const answer = await readVisitor(deps, writeback.target)
    const stored = (await deps.mirror.rawOf('visitors', [writeback.target])).get(writeback.target)
    const { rows } = visitors.parseRows([toListShape(stored, answer.data)], deps.projectId)
    await deps.mirror.commit({ stream: 'visitors', rows, askedAt: answer.askedAt, authoritative: true })
  },
}

function readVisitor(deps: WritebackDeps, id: string): Promise<ApiResponse> {
  return deps.get(visitors.rowPath(deps.projectId, id), {}, 'write')
}

type VisitorProfile = { readonly name?: string | null; readonly email?: string | null }

/** A service may trim what it is given, and write addresses in small letters. */
function isSameText(one: string | null | undefined, other: string | null | undefined): boolean {
  const plain = (text: typeof one) => text?.normalize('NFC').trim().toLowerCase() ?? text
  return plain(one) === plain(other)
}

/** undefined: the service does not show it. */
function toProfile(answer: ApiResponse): VisitorProfile {
  const fields = asJsonObject(answer.data)
  const text = (value: Json | undefined) => (typeof value === 'string' || value === null ? value : undefined)
  const [name, email] = [text(fields?.name), text(fields?.email)]
  return { ...(name === undefined ? {} : { name }), ...(email === undefined ? {} : { email }) }
}
