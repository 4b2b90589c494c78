/**
 * The API cannot read notes, so a person has to look for one without a response. The name of the
 * text field is not documented; a 400 has no effect and may name it.
 */
import type { Json } from '../../values/json.ts'
import { findVisitorViolation } from './conversation-snapshot.ts'
import type { CreateHandler, OperationHandler, Task } from './operation-handler.ts'

const acceptedFieldBehaviour = 'writebacks.note_field'
const requestedFieldBehaviour = 'writebacks.note_field_asked'

/** Tried in this order if the service does not name a field. */
const commonFieldNames = ['content', 'note', 'text', 'body', 'message']
const maxRefusedFields = 8

export const createNoteHandler: CreateHandler<'note'> = ({ payload, expect }) => ({
  method: 'POST',
  path: '/notes',
  // Nothing can be verified later.
  verifyDelayFactor: 0,
  checkPrecondition: async (task) => {
    const why = await findVisitorViolation(task, expect)
    if (why !== null) return { event: 'conflicted', why }
    return { body: { [await chooseFieldName(task)]: payload.content }, before: {} }
  },
  verify: async () => ({
    event: 'unverifiable',
    why: 'no response came, and the API cannot read notes',
  }),
  interpretRefusal,
  toObservedBehaviours: (sent) => [
    {
      name: acceptedFieldBehaviour,
      value: sentFieldName(sent),
      evidence: 'a note with this field was accepted',
    },
  ],
})

async function chooseFieldName({ deps, writeback }: Task): Promise<string> {
  const { refusedFields = [] } = writeback.evidence
  const known = await deps.outbox.readBehaviours()
  const candidates = [
    known.get(acceptedFieldBehaviour),
    known.get(requestedFieldBehaviour),
    ...commonFieldNames,
  ]
  return candidates.find((name) => name !== undefined && !refusedFields.includes(name)) ?? 'content'
}

/** Retries with another field name, or fails; null if the refusal has another reason and stands. */
const interpretRefusal: NonNullable<OperationHandler['interpretRefusal']> = async (
  { deps, writeback },
  { status, fields, why, requestId },
  sent,
) => {
  const { refusedFields = [], firstRefusal = why } = writeback.evidence
  if ((status !== 400 && status !== 422) || refusedFields.length >= maxRefusedFields) return null
  const used = sentFieldName(sent)
  const evidence = { refusedFields: [...refusedFields, used], firstRefusal }
  const notSent = { event: 'not_sent', requestId, evidence } as const
  const named = fields.find((name) => name !== used && /^\w{1,64}$/.test(name))
  // The service asks for a field that it refused: the name was right, the content was not.
  if (named !== undefined && refusedFields.includes(named))
    return { event: 'refused', why: firstRefusal, requestId }
  if (named !== undefined) {
    const observedBehaviours = [{ name: requestedFieldBehaviour, value: named, evidence: why }]
    return {
      ...notSent,
      why: `the service expects the text in ${named}, not in ${used}`,
      observedBehaviours,
    }
  }
  if ((await deps.outbox.readBehaviours()).get(acceptedFieldBehaviour) === used) return null
  const guess = commonFieldNames.find((name) => name !== used && !refusedFields.includes(name))
  if (guess === undefined) return { event: 'refused', why: firstRefusal, requestId }
  return {
    ...notSent,
    why: `the service does not accept the text in ${used}; the next attempt uses ${guess}`,
  }
}

function sentFieldName(sent: Json): string {
  return Object.keys(sent as object)[0] ?? ''
}
