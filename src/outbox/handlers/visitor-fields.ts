/** Corrects texts of a visitor, and no other field. Gives way to someone else's newer edit. */
import { asJsonObject, type Json } from '../../values/json.ts'
import { fieldNames, shownName, toFieldValues, toShownFields } from '../core/field-kinds.ts'
import { type Operation, operationTypes } from '../core/operations.ts'
import { asMirrored, findHash, withoutPrivate } from '../core/private-fields.ts'
import { findForeignEdit, isSameValue, noOwnEdits } from '../core/review/guards.ts'
import { effectOf } from '../core/writeback-request.ts'
import { findVisitorViolation } from './conversation-snapshot.ts'
import {
  absent,
  type CreateHandler,
  findShown,
  needsAnswer,
  readTarget,
  type Task,
} from './operation-handler.ts'

export const createVisitorHandler: CreateHandler<Operation> = (request) => ({
  method: 'PATCH',
  path: '',
  verifyDelayFactor: 0.1,
  checkPrecondition: async (task) => {
    const { deps, writeback } = task
    const why = await findVisitorViolation(task, request.expect)
    if (why !== null) return { event: 'conflicted', why }
    const shown = await readShown(task)
    const live = toFieldValues(shown)
    const wanted = effectOf(request)
    const after = { ...live, ...wanted }
    const body: Record<string, Json> = {}
    for (const field of operationTypes[request.operation].sets) {
      const value = after[field]
      if (value === undefined) {
        const why = `the service does not show the visitor's ${field}, so it cannot be left unchanged`
        return { event: 'invalid', why }
      }
      body[shownName(field)] = value
    }
    const hash = findHash(body)
    if (hash !== null) return { event: 'invalid', why: hash }
    // A value that is stored by other rules looks changed: a conflict, and no edit is overwritten.
    const { columns, compared } = deps
    const { id } = writeback
    const { ownEdit, lastOwnEdit } = (await deps.outbox.readOwnEdits([id])).get(id) ?? noOwnEdits
    // The mirror, which the person saw, may have only hashes: they are compared with hashes.
    const facts = {
      queuedAs: writeback.targetSnapshot && asMirrored(compared, writeback.targetSnapshot),
      sentAs: writeback.evidence.before,
      ownEdit: asMirrored(compared, ownEdit),
      lastOwnEdit: asMirrored(compared, lastOwnEdit),
    }
    const edit = findForeignEdit(asMirrored(compared, wanted), asMirrored(compared, live), facts)
    if (edit !== null) return { event: 'conflicted', why: edit }
    return { body, before: withoutPrivate(columns, shown) }
  },
  verify: async (task) => {
    const { before } = task.writeback.evidence
    const live = toFieldValues(await readShown(task))
    const was = toFieldValues(before)
    const wanted = effectOf(request)
    const wantedFields = fieldNames.filter((field) => wanted[field] !== undefined)
    const isDone = wantedFields.every((field) => isSameValue(live[field], wanted[field]))
    const wasSame = wantedFields.every((field) => isSameValue(was[field], wanted[field]))
    if (!isDone || (wasSame && needsAnswer(task))) return absent
    return {
      event: 'found',
      why: `the visitor has the ${wantedFields.join(' and ')} of the request`,
    }
  },
  findContradiction: (task, shown) => {
    const live = toFieldValues(toShownFields(findShown(task, shown)))
    const was = toFieldValues(task.writeback.evidence.before)
    const wanted = effectOf(request)
    const others = fieldNames.filter(
      (field) =>
        wanted[field] !== undefined &&
        live[field] !== undefined &&
        !isSameValue(live[field], wanted[field]),
    )
    if (others.length === 0) return null
    const isUnchanged = others.every((field) => live[field] === was[field])
    return isUnchanged
      ? `still shows the former ${others.join(' and ')}`
      : `shows another ${others.join(' and ')}`
  },
})

async function readShown(task: Task) {
  return toShownFields(asJsonObject((await readTarget(task)).data))
}
