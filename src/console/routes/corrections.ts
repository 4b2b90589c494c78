/**
 * A correction of a visitor's name or address, made on the page of the visitor: a draft in the
 * person's batch of the day.
 */
import type { FastifyInstance } from 'fastify'
import type { OutboxEntry } from '../../outbox/outbox.ts'
import { withQuery } from '../../values/address.ts'
import { type Corrected, correctedFields, presentFields } from '../pages/correction-form.ts'
import type { DraftProblem } from '../pages/draft-form.ts'
import { visitorPage } from '../pages/visitor.ts'
import { rulesOf } from '../private-notes.ts'
import type { Values } from '../screen.ts'
import { readVisitor } from '../sql/visitor.ts'
import {
  admitDraft,
  findSame,
  incompleteForm,
  isFormKey,
  problemOf,
  queueDraft,
} from './queue-draft.ts'
import { type Site, valuesOf } from './site.ts'

export function addCorrections(app: FastifyInstance, site: Site): void {
  app.post<{ Params: { id: string } }>('/p/:project/visitors/:id', async (request, reply) => {
    const { id } = request.params
    const admitted = await admitDraft(request, reply, site, 'visitors')
    if (admitted === null) return reply
    const { project, db, outbox, address } = admitted
    const posted = readForm(valuesOf(request.body))
    if (posted === null) return site.sendProblem(reply, 400, ...incompleteForm, address, project)
    const { key, given } = posted
    const queued = await outbox.listNewest({ target: id, operations: ['visitor'] }, 100)
    const present = presentFields(await readVisitor(db, id), rulesOf(project))
    const row = { operation: 'visitor', visitor_id: id, ref: key, ...changesOf(posted) }
    const problem =
      findProblem(posted, present, queued) ??
      (await queueDraft(admitted, { rows: [row], detail: `correction · visitor ${id}` }))
    if (problem === null)
      return reply.redirect(`${withQuery(address, { drafted: key })}#correct`, 303)
    const query = () => null
    const page = await visitorPage({ ...admitted, id, query }, { source: null, given, problem })
    return page === null ? reply.callNotFound() : site.send(reply.code(422), page, project)
  })
}

/** `seen`: what the page showed; empty = nothing, or a field that is not stored. */
type PostedCorrection = {
  readonly key: string
  readonly given: Corrected
  readonly seen: Corrected
}

/** Null: it is not a form of ours. */
function readForm(values: Values): PostedCorrection | null {
  const text = (name: string) => (values(name).at(0) ?? '').trim()
  const key = text('key')
  const textsOf = (prefix: string) => ({
    name: text(`${prefix}name`),
    email: text(`${prefix}email`),
  })
  return isFormKey(key) ? { key, given: textsOf(''), seen: textsOf('seen_') } : null
}

/** A field that is empty now, and was not, is cleared. */
function changesOf({
  given,
  seen,
}: PostedCorrection): Partial<Record<keyof Corrected, string | null>> {
  const changed = correctedFields.filter((field) => given[field] !== seen[field])
  return Object.fromEntries(changed.map((field) => [field, given[field] || null]))
}

/** What the person could not have seen, or has not done. */
function findProblem(
  posted: PostedCorrection,
  present: ReturnType<typeof presentFields>,
  queued: readonly OutboxEntry[],
): DraftProblem | null {
  // This form was sent before, so what it did is what it does.
  if (queued.some(({ ref }) => ref === posted.key)) return null
  const changes = changesOf(posted)
  const names = correctedFields.filter((field) => changes[field] !== undefined)
  if (names.length === 0) return problemOf('You have changed neither the name nor the address.')
  return names.some((field) => (present[field] ?? '').trim() !== posted.seen[field])
    ? problemOf('It has been changed since you opened this page: see the present values.')
    : findSame(queued, changes)
}
