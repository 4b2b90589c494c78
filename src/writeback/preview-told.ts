/** What an import would change, in words: the wish beside the record as it is. Pure. */
import type { Answer } from '../core/call.ts'
import { CallFailed, describe, isRefusedByService } from '../core/failure.ts'
import { never } from '../core/never.ts'
import type { Preview } from '../core/outbox/report.ts'
import { aboutWhat, type Wish } from '../core/outbox/wish.ts'
import { fieldsOf } from '../streams/row.ts'
import type { Cleared, Guarded, WishOf } from './operations/procedure.ts'

export type Told = Pick<Preview, 'would' | 'detail'>

export function tellGuarded(wish: Wish, live: Answer, guard: Guarded): Told {
  if (!guard.go) return { would: guard.happening === 'unfit' ? 'fail' : 'conflict', detail: guard.why }
  const isHandled = typeof fieldsOf(live.data)?.handledAt === 'string'
  switch (wish.operation) {
    case 'handled':
      return handledDetail(isHandled, wish.payload.handled)
    case 'message': {
      const { content, sender_name } = wish.payload
      const detail = `a reply of ${characters(content)} as ${JSON.stringify(sender_name)}`
      return { would: 'send', detail: isHandled ? `${detail}; handled → open` : detail }
    }
    case 'note':
      return { would: 'send', detail: `a note of ${characters(wish.payload.content)}` }
    case 'visitor':
      return visitorDetail(wish.payload, guard.before)
    default:
      return never(wish)
  }
}

function handledDetail(is: boolean, wanted: boolean): Told {
  const name = (handled: boolean) => (handled ? 'handled' : 'open')
  if (is === wanted) return { would: 'nothing', detail: `already ${name(is)}` }
  return { would: 'change', detail: `${name(is)} → ${name(wanted)}` }
}

function visitorDetail(wanted: WishOf<'visitor'>['payload'], before: Cleared['before']): Told {
  const of = (field: 'name' | 'email') => {
    const [will, is] = [wanted[field], before[field] ?? null]
    if (will === undefined) return { changes: false, text: `${field} kept` }
    const changes = will !== is
    return { changes, text: changes ? `${field} ${quoted(is)} → ${quoted(will)}` : `${field} already ${quoted(is)}` }
  }
  const fields = [of('name'), of('email')]
  const would = fields.some(({ changes }) => changes) ? 'change' : 'nothing'
  return { would, detail: fields.map(({ text }) => text).join(', ') }
}

function quoted(value: string | null): string {
  return value === null ? 'none' : JSON.stringify(value)
}

function characters(text: string): string {
  return text.length === 1 ? '1 character' : `${text.length} characters`
}

/** Throws what says nothing about the wish. */
export function tellFailure(wish: Wish, error: unknown): Told {
  if (!(error instanceof CallFailed)) throw error
  const { failure } = error
  if (failure.kind === 'denied' && failure.scope !== null)
    return { would: 'unknown', detail: `cannot be looked at: the key lacks the scope ${failure.scope}` }
  if (failure.kind !== 'refused' || !isRefusedByService(failure)) throw error
  if (failure.status !== 404) return { would: 'fail', detail: describe(failure) }
  return { would: 'fail', detail: `no such ${aboutWhat[wish.operation]}` }
}
