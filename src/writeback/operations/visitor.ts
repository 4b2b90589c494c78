/** Corrects a visitor's name or email: keeps what is not meant to change, and yields to somebody else's newer edit. */

import type { Answer } from '../../core/call.ts'
import type { Json } from '../../core/row.ts'
import { inShapeOf } from '../../core/shape.ts'
import { fieldsOf } from '../../streams/row.ts'
import { visitors } from '../../streams/visitors.ts'
import type { WritebackDeps } from '../deps.ts'
import type { Procedure } from './procedure.ts'
import { expectedElsewhere } from './visitor-conversation.ts'

const editable = ['name', 'email'] as const

export const visitor: Procedure<'visitor'> = {
  method: 'PATCH',
  path: visitors.one,
  idempotent: true,
  rest: 0.1,
  guard: async (deps, one, { payload, expect }) => {
    const why = await expectedElsewhere(deps, one, expect)
    if (why !== null) return { go: false, happening: 'overtaken', why }
    const live = profileOf(await readVisitor(deps, one.target))
    const body: Record<string, Json> = {}
    for (const field of editable) {
      const [wanted, is] = [payload[field], live[field]]
      if (wanted === undefined && is === undefined)
        return {
          go: false,
          happening: 'unfit',
          why: `the service does not show the visitor's ${field}, so it cannot be kept`,
        }
      const own = wanted === undefined ? undefined : await deps.outbox.ownEdit(one, field)
      // Sent before, and not there: somebody may have edited it since.
      const known = one.evidence.before?.[field]
      const was = own === undefined ? (known ?? one.seen?.[field]) : own
      // What the service made of what we sent.
      const isOurs = (known !== undefined && isSame(is, wanted)) || (own !== undefined && isSame(is, own))
      if (wanted !== undefined && is !== undefined && was !== undefined && is !== was && is !== wanted && !isOurs)
        return { go: false, happening: 'overtaken', why: `somebody changed the ${field} since it was queued` }
      body[field] = wanted === undefined ? (is ?? null) : wanted
    }
    return { go: true, body, before: { name: live.name ?? null, email: live.email ?? null } }
  },
  look: async (deps, one, { payload }) => {
    const live = profileOf(await readVisitor(deps, one.target))
    const before = one.evidence.before
    const meant = editable.filter((field) => payload[field] !== undefined)
    const isDone = meant.every((field) => isSame(live[field], payload[field]))
    const wasSo = meant.every((field) => isSame(before?.[field], payload[field]))
    // Where it had been so before, that it is so proves nothing, unless the service has answered; once more does no harm.
    const wasDone = wasSo && one.evidence.claim === undefined
    if (!isDone || wasDone) return { kind: 'absent' }
    return { kind: 'found', how: `the visitor's ${meant.join(' and ')} is as it was sent` }
  },
  refresh: async (deps, one) => {
    const answer = await readVisitor(deps, one.target)
    const stored = (await deps.mirror.rawOf('visitors', [one.target])).get(one.target)
    const { rows } = visitors.rows([inShapeOf(stored, answer.data)], deps.project)
    await deps.mirror.commit({ stream: 'visitors', rows, askedAt: answer.askedAt, authoritative: true })
  },
}

function readVisitor(deps: WritebackDeps, id: string): Promise<Answer> {
  return deps.get(visitors.one(deps.project, id), {}, 'write')
}

type Profile = { readonly name?: string | null; readonly email?: string | null }

/** A service may trim what it is given, and write addresses in small letters. */
function isSame(one: string | null | undefined, other: string | null | undefined): boolean {
  const plain = (text: typeof one) => text?.normalize('NFC').trim().toLowerCase() ?? text
  return plain(one) === plain(other)
}

/** undefined: the service does not show it. */
function profileOf(answer: Answer): Profile {
  const fields = fieldsOf(answer.data)
  const text = (value: Json | undefined) => (typeof value === 'string' || value === null ? value : undefined)
  const [name, email] = [text(fields?.name), text(fields?.email)]
  return { ...(name === undefined ? {} : { name }), ...(email === undefined ? {} : { email }) }
}
