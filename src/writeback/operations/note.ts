/**
 * An internal note. Nothing of the API shows notes, so one that got no answer is for a person to look for. The name of
 * its text field is not documented either: a 400 changes nothing, and names the field that it wants.
 */
import type { ApiFailure } from '../../core/api-failure.ts'
import type { Transition, Writeback } from '../../core/outbox/repository.ts'
import type { Json } from '../../core/row.ts'
import { visitors } from '../../streams/visitors.ts'
import type { WritebackDeps } from '../deps.ts'
import type { OperationHandler } from './operation-handler.ts'
import { findVisitorViolation } from './visitor-precondition.ts'

/** What was accepted, and what a refusal asked for. */
const [accepted, asked] = ['writebacks.note_field', 'writebacks.note_field_asked']

/** In this order, where the service does not say what it wants. */
const commonFieldNames = ['content', 'note', 'text', 'body', 'message']
const maxRefusedFields = 8

export const noteHandler: OperationHandler<'note'> = {
  method: 'POST',
  path: (project, id) => `${visitors.rowPath(project, id)}/notes`,
  isIdempotent: false,
  // There is nothing to wait for.
  verifyDelayFactor: 0,
  guard: async (deps, writeback, { payload, expect }) => {
    const why = await findVisitorViolation(deps, writeback, expect)
    if (why !== null) return { canSend: false, event: 'overtaken', why }
    return { canSend: true, body: { [await chooseFieldName(deps, writeback)]: payload.content }, before: {} }
  },
  verify: async () => ({ kind: 'unknowable', why: 'no answer came, and nothing of the API shows notes' }),
  interpretRefusal,
  toObservedBehaviours: (sent) => [{ name: accepted, value: sentFieldName(sent), evidence: 'a note with this field was accepted' }],
  refreshTarget: async () => {},
}

async function chooseFieldName(deps: WritebackDeps, { evidence: { refusedFields = [] } }: Writeback): Promise<string> {
  const known = await deps.outbox.readBehaviours()
  const candidates = [known.get(accepted), known.get(asked), ...commonFieldNames].filter((name) => name !== undefined)
  return candidates.find((name) => !refusedFields.includes(name)) ?? 'content'
}

type Refusal = Extract<ApiFailure, { kind: 'refused' }>

/** Another name for the field, or the last word; null: the refusal is about something else and stands. */
async function interpretRefusal(deps: WritebackDeps, writeback: Writeback, refusal: Refusal, sent: Json): Promise<Transition | null> {
  const { fields, why, requestId } = refusal
  const { refusedFields = [], firstRefusal = why } = writeback.evidence
  if ((refusal.status !== 400 && refusal.status !== 422) || refusedFields.length >= maxRefusedFields) return null
  const used = sentFieldName(sent)
  const notSent = {
    happening: 'undone',
    requestId,
    evidence: { refusedFields: [...refusedFields, used], firstRefusal },
  } as const
  const named = fields.find((name) => name !== used && /^\w{1,64}$/.test(name))
  // It wants the field that it has refused already: so that one was right, and what it held was not.
  if (named !== undefined && refusedFields.includes(named))
    return { event: 'refused', why: firstRefusal, requestId }
  if (named !== undefined) {
    const learned = [{ name: asked, value: named, evidence: why }]
    return { ...notSent, why: `the service wants the text in ${named}, not in ${used}`, observedBehaviours: learned }
  }
  if ((await deps.outbox.readBehaviours()).get(accepted) === used) return null
  const guess = commonFieldNames.find((name) => name !== used && !refusedFields.includes(name))
  if (guess === undefined) return { event: 'refused', why: firstRefusal, requestId }
  return { ...notSent, why: `the service does not take the text in ${used}; ${guess} is tried next` }
}

function sentFieldName(sent: Json): string {
  return Object.keys(sent as object)[0] ?? ''
}
