/** The handler of each operation; replies have a file of their own. */

import type { ApiResponse } from '../../service/core/api-request.ts'
import type { Json } from '../../values/json.ts'
import { asJsonObject } from '../../values/json.ts'
import type { Transition } from '../core/outbox-entry.ts'
import { editableFields, findForeignEdit, isSameValue, type VisitorFields } from '../core/review-guards.ts'
import type { Operation, RequestFor } from '../core/writeback-request.ts'
import { findViolation, findVisitorViolation } from './conversation.ts'
import { createMessageHandler } from './message.ts'
import { type CreateHandler, type OperationHandler, type Refusal, readTarget, type Task } from './operation-handler.ts'

const createHandledHandler: CreateHandler<'handled'> = ({ payload: { handled: wanted }, expect }) => ({
  method: 'POST',
  path: '/handled',
  verifyDelayFactor: 0.1,
  checkPrecondition: async (task) => {
    const { deps, writeback } = task
    // For "reply, then close": without the reply, closing would leave the customer without an answer.
    const reply = wanted ? await deps.outbox.findPreviousReplyStatus(writeback) : null
    if (reply !== null && reply !== 'succeeded')
      return { canSend: false, event: 'conflicted', why: `the reply queued before it was not sent (${reply})` }
    const conversation = await readTarget(task)
    const handledAt = readHandledAt(conversation)
    if (wanted || expect !== null) {
      const why = await findViolation(task, expect, conversation)
      if (why !== null) return { canSend: false, event: 'conflicted', why }
    }
    // It was sent before, and someone marked the conversation handled since: the newer change wins.
    const was = writeback.evidence.before?.handledAt
    if (!wanted && was !== undefined && handledAt !== null && handledAt !== was) {
      return { canSend: false, event: 'conflicted', why: `someone marked it handled at ${handledAt}` }
    }
    return { canSend: true, body: { handled: wanted }, before: { handledAt } }
  },
  verify: async (task) => {
    const { before, statedResult } = task.writeback.evidence
    const isNowHandled = readHandledAt(await readTarget(task)) !== null
    const wasHandled = (before?.handledAt ?? null) !== null
    // If it was already so before the send, the state proves nothing unless the service responded. Sending again is harmless.
    const provesNothing = wasHandled === wanted && statedResult === undefined
    if (isNowHandled !== wanted || provesNothing) return { kind: 'absent' }
    return { kind: 'found', how: `the conversation is ${isNowHandled ? 'handled' : 'open'}` }
  },
})

function readHandledAt(conversation: ApiResponse): string | null {
  const at = asJsonObject(conversation.data)?.handledAt
  return at === null || at === undefined ? null : String(at)
}

/** Leaves the other field unchanged, and gives way to someone else's newer edit. */
const createVisitorHandler: CreateHandler<'visitor'> = ({ payload, expect }) => ({
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

const acceptedFieldBehaviour = 'writebacks.note_field'
const requestedFieldBehaviour = 'writebacks.note_field_asked'

/** Tried in this order if the service does not name a field. */
const commonFieldNames = ['content', 'note', 'text', 'body', 'message']
const maxRefusedFields = 8

/**
 * The API cannot read notes, so a person has to look for a note without a response. The name of the text field is not
 * documented; a 400 has no effect and may name the field that the service expects.
 */
const createNoteHandler: CreateHandler<'note'> = ({ payload, expect }) => ({
  method: 'POST',
  path: '/notes',
  // Nothing can be verified later.
  verifyDelayFactor: 0,
  checkPrecondition: async (task) => {
    const why = await findVisitorViolation(task, expect)
    if (why !== null) return { canSend: false, event: 'conflicted', why }
    return { canSend: true, body: { [await chooseFieldName(task)]: payload.content }, before: {} }
  },
  verify: async () => ({ kind: 'unverifiable', why: 'no response came, and the API cannot read notes' }),
  interpretRefusal,
  toObservedBehaviours: (sent) => [
    { name: acceptedFieldBehaviour, value: sentFieldName(sent), evidence: 'a note with this field was accepted' },
  ],
})

async function chooseFieldName({ deps, writeback }: Task): Promise<string> {
  const { refusedFields = [] } = writeback.evidence
  const known = await deps.outbox.readBehaviours()
  const candidates = [known.get(acceptedFieldBehaviour), known.get(requestedFieldBehaviour), ...commonFieldNames]
  return candidates.find((name) => name !== undefined && !refusedFields.includes(name)) ?? 'content'
}

/** Retries with another field name, or fails; null if the refusal has another reason and stands. */
async function interpretRefusal({ deps, writeback }: Task, refusal: Refusal, sent: Json): Promise<Transition | null> {
  const { fields, why, requestId } = refusal
  const { refusedFields = [], firstRefusal = why } = writeback.evidence
  if ((refusal.status !== 400 && refusal.status !== 422) || refusedFields.length >= maxRefusedFields) return null
  const used = sentFieldName(sent)
  const evidence = { refusedFields: [...refusedFields, used], firstRefusal }
  const notSent = { event: 'not_sent', requestId, evidence } as const
  const named = fields.find((name) => name !== used && /^\w{1,64}$/.test(name))
  // The service asks for a field that it already refused, so the name was right and the content was not.
  if (named !== undefined && refusedFields.includes(named)) return { event: 'refused', why: firstRefusal, requestId }
  if (named !== undefined) {
    const observedBehaviours = [{ name: requestedFieldBehaviour, value: named, evidence: why }]
    return { ...notSent, why: `the service expects the text in ${named}, not in ${used}`, observedBehaviours }
  }
  if ((await deps.outbox.readBehaviours()).get(acceptedFieldBehaviour) === used) return null
  const guess = commonFieldNames.find((name) => name !== used && !refusedFields.includes(name))
  if (guess === undefined) return { event: 'refused', why: firstRefusal, requestId }
  return { ...notSent, why: `the service does not accept the text in ${used}; the next attempt uses ${guess}` }
}

function sentFieldName(sent: Json): string {
  return Object.keys(sent as object)[0] ?? ''
}

const handlers: { readonly [O in Operation]: CreateHandler<O> } = {
  message: createMessageHandler,
  handled: createHandledHandler,
  visitor: createVisitorHandler,
  note: createNoteHandler,
}

export function createHandler<O extends Operation>(request: RequestFor<O>): OperationHandler {
  return handlers[request.operation](request)
}
