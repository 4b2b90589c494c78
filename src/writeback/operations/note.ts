/**
 * An internal note. Nothing of the API shows notes, so one that got no answer is for a person to look for. The name of
 * its text field is not documented either: a 400 changes nothing, and names the field that it wants.
 */
import type { Failure } from '../../core/failure.ts'
import type { Step, Writeback } from '../../core/outbox/outbox.ts'
import type { Json } from '../../core/row.ts'
import { visitors } from '../../streams/visitors.ts'
import type { WritebackDeps } from '../deps.ts'
import type { Procedure } from './procedure.ts'
import { expectedElsewhere } from './visitor-conversation.ts'

/** What was accepted, and what a refusal asked for. */
const [accepted, asked] = ['writebacks.note_field', 'writebacks.note_field_asked']

/** In this order, where the service does not say what it wants. */
const usual = ['content', 'note', 'text', 'body', 'message']
const most = 8

export const note: Procedure<'note'> = {
  method: 'POST',
  path: (project, id) => `${visitors.one(project, id)}/notes`,
  idempotent: false,
  // There is nothing to wait for.
  rest: 0,
  guard: async (deps, one, { payload, expect }) => {
    const why = await expectedElsewhere(deps, one, expect)
    if (why !== null) return { go: false, happening: 'overtaken', why }
    return { go: true, body: { [await fieldFor(deps, one)]: payload.content }, before: {} }
  },
  look: async () => ({ kind: 'unknowable', why: 'no answer came, and nothing of the API shows notes' }),
  lesson,
  learned: (sent) => [{ name: accepted, value: fieldOf(sent), evidence: 'a note with this field was accepted' }],
  refresh: async () => {},
}

async function fieldFor(deps: WritebackDeps, { evidence: { refusedFields = [] } }: Writeback): Promise<string> {
  const known = await deps.outbox.behaviours()
  const candidates = [known.get(accepted), known.get(asked), ...usual].filter((name) => name !== undefined)
  return candidates.find((name) => !refusedFields.includes(name)) ?? 'content'
}

type Refusal = Extract<Failure, { kind: 'refused' }>

/** Another name for the field, or the last word; null: the refusal is about something else and stands. */
async function lesson(deps: WritebackDeps, one: Writeback, refusal: Refusal, sent: Json): Promise<Step | null> {
  const { fields, why, requestId } = refusal
  const { refusedFields = [], firstRefusal = why } = one.evidence
  if ((refusal.status !== 400 && refusal.status !== 422) || refusedFields.length >= most) return null
  const used = fieldOf(sent)
  const undone = {
    happening: 'undone',
    requestId,
    evidence: { refusedFields: [...refusedFields, used], firstRefusal },
  } as const
  const named = fields.find((name) => name !== used && /^\w{1,64}$/.test(name))
  // It wants the field that it has refused already: so that one was right, and what it held was not.
  if (named !== undefined && refusedFields.includes(named))
    return { happening: 'refused', why: firstRefusal, requestId }
  if (named !== undefined) {
    const learned = [{ name: asked, value: named, evidence: why }]
    return { ...undone, why: `the service wants the text in ${named}, not in ${used}`, learned }
  }
  if ((await deps.outbox.behaviours()).get(accepted) === used) return null
  const guess = usual.find((name) => name !== used && !refusedFields.includes(name))
  if (guess === undefined) return { happening: 'refused', why: firstRefusal, requestId }
  return { ...undone, why: `the service does not take the text in ${used}; ${guess} is tried next` }
}

function fieldOf(sent: Json): string {
  return Object.keys(sent as object)[0] ?? ''
}
