/** Corrects a visitor's name or email. Leaves the other field unchanged, and gives way to someone else's newer edit. */
import type { ApiResponse } from '../../core/api-request.ts'
import { asJsonObject } from '../../core/json.ts'
import { toListShape } from '../../core/list-shape.ts'
import type { WritebackPayload } from '../../core/outbox/writeback-request.ts'
import type { Json } from '../../core/row.ts'
import { visitors } from '../../streams/list-streams.ts'
import type { WritebackDeps } from '../deps.ts'
import type { CreateHandler, Task } from './operation-handler.ts'
import { findVisitorViolation } from './precondition.ts'

const editableFields = ['name', 'email'] as const

export const createVisitorHandler: CreateHandler<'visitor'> = ({ payload, expect }) => ({
  method: 'PATCH',
  path: visitors.rowPath,
  verifyDelayFactor: 0.1,
  checkPrecondition: async (task) => {
    const { deps, writeback } = task
    const why = await findVisitorViolation(task, expect)
    if (why !== null) return { canSend: false, event: 'conflicted', why }
    const live = toProfile(await readVisitor(deps, writeback.target))
    const body: Record<string, Json> = {}
    for (const field of editableFields) {
      const [wanted, current] = [payload[field], live[field]]
      if (wanted === undefined && current === undefined) {
        const why = `the service does not show the visitor's ${field}, so it cannot be left unchanged`
        return { canSend: false, event: 'invalid', why }
      }
      const own = wanted === undefined ? undefined : await deps.outbox.findOwnEdit(writeback, field, 'snapshot')
      // If it was sent before and is not there, someone may have edited it since.
      const beforeSend = writeback.evidence.before?.[field]
      const was = own === undefined ? (beforeSend ?? writeback.targetSnapshot?.[field]) : own
      // The service may have normalised the value that we sent.
      const isOurs =
        (beforeSend !== undefined && isSameText(current, wanted)) || (own !== undefined && isSameText(current, own))
      const hasChanged = was !== undefined && current !== was && current !== wanted && !isOurs
      // The mirror may not have seen our last correction when this one was queued, and then nobody else changed it.
      const isLastOwn = hasChanged && isSameText(current, await deps.outbox.findOwnEdit(writeback, field, 'ever'))
      if (wanted !== undefined && current !== undefined && hasChanged && !isLastOwn)
        return { canSend: false, event: 'conflicted', why: `someone changed the ${field} since it was queued` }
      body[field] = wanted === undefined ? (current ?? null) : wanted
    }
    if (await isThereAlready(task, payload, live))
      return { canSend: false, event: 'conflicted', why: 'it is there already, and has been set since it was queued' }
    return { canSend: true, body, before: { name: live.name ?? null, email: live.email ?? null } }
  },
  verify: async ({ deps, writeback }) => {
    const live = toProfile(await readVisitor(deps, writeback.target))
    const before = writeback.evidence.before
    const wantedFields = editableFields.filter((field) => payload[field] !== undefined)
    const isDone = wantedFields.every((field) => isSameText(live[field], payload[field]))
    const wasSame = wantedFields.every((field) => isSameText(before?.[field], payload[field]))
    // If it was already so before the send, the state proves nothing unless the service responded. Sending again is harmless.
    const provesNothing = wasSame && writeback.evidence.statedResult === undefined
    if (!isDone || provesNothing) return { kind: 'absent' }
    return { kind: 'found', how: `the visitor's ${wantedFields.join(' and ')} matches the request` }
  },
  refreshTarget: async ({ deps, writeback }) => {
    const response = await readVisitor(deps, writeback.target)
    const stored = (await deps.mirror.readRawById('visitors', [writeback.target])).get(writeback.target)
    const { rows } = visitors.parseRows([toListShape(stored, response.data)], deps.projectId)
    await deps.mirror.commit({ stream: 'visitors', rows, requestedAt: response.requestedAt, isAuthoritative: true })
  },
})

/** Someone else has set all of it since, or we did, before the warehouse went back to a backup. */
async function isThereAlready(
  { deps, writeback }: Task,
  payload: WritebackPayload['visitor'],
  live: VisitorProfile,
): Promise<boolean> {
  // What it set when it was sent before may be there.
  if (writeback.evidence.before !== undefined) return false
  let hasChanged = false
  for (const field of editableFields.filter((name) => payload[name] !== undefined)) {
    if (!isSameText(live[field], payload[field])) return false
    const own = await deps.outbox.findOwnEdit(writeback, field, 'snapshot')
    const was = own === undefined ? writeback.targetSnapshot?.[field] : own
    hasChanged ||= was !== undefined && !isSameText(live[field], was)
  }
  return hasChanged
}

function readVisitor(deps: WritebackDeps, id: string): Promise<ApiResponse> {
  return deps.get(visitors.rowPath(deps.projectId, id), {}, 'write')
}

type VisitorProfile = { readonly name?: string | null; readonly email?: string | null }

/** The service may trim values and convert email addresses to lower case. */
function isSameText(a: string | null | undefined, b: string | null | undefined): boolean {
  const normalize = (text: typeof a) => text?.normalize('NFC').trim().toLowerCase() ?? text
  return normalize(a) === normalize(b)
}

/** Fields that the service does not show are absent. */
function toProfile(response: ApiResponse): VisitorProfile {
  const fields = asJsonObject(response.data)
  const text = (value: Json | undefined) => (typeof value === 'string' || value === null ? value : undefined)
  const [name, email] = [text(fields?.name), text(fields?.email)]
  return { ...(name === undefined ? {} : { name }), ...(email === undefined ? {} : { email }) }
}
