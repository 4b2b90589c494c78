/** What an import would change, in words: the wish beside the record as it is. Pure. */
import type { ApiResponse } from '../../core/api-request.ts'
import { ApiError, describeFailure, isRefusedByService } from '../../core/api-failure.ts'
import { assertNever } from '../../core/assert-never.ts'
import type { LinePreview } from '../../core/outbox/reports.ts'
import { targetKind, type WritebackRequest } from '../../core/outbox/writeback-request.ts'
import { asJsonObject } from '../../streams/item.ts'
import type { ReadyToSend, Guarded, RequestFor } from '../operations/operation-handler.ts'

export type PreviewDetail = Pick<LinePreview, 'would' | 'detail'>

export function describePreview(request: WritebackRequest, live: ApiResponse, guarded: Guarded): PreviewDetail {
  if (!guarded.canSend) return { would: guarded.event === 'unfit' ? 'fail' : 'conflict', detail: guarded.why }
  const isHandled = typeof asJsonObject(live.data)?.handledAt === 'string'
  switch (request.operation) {
    case 'handled':
      return handledDetail(isHandled, request.payload.handled)
    case 'message': {
      const { content, sender_name } = request.payload
      const detail = `a reply of ${countCharacters(content)} as ${JSON.stringify(sender_name)}`
      return { would: 'send', detail: isHandled ? `${detail}; handled → open` : detail }
    }
    case 'note':
      return { would: 'send', detail: `a note of ${countCharacters(request.payload.content)}` }
    case 'visitor':
      return visitorDetail(request.payload, guarded.before)
    default:
      return assertNever(request)
  }
}

function handledDetail(isHandled: boolean, wanted: boolean): PreviewDetail {
  const name = (handled: boolean) => (handled ? 'handled' : 'open')
  if (isHandled === wanted) return { would: 'nothing', detail: `already ${name(isHandled)}` }
  return { would: 'change', detail: `${name(isHandled)} → ${name(wanted)}` }
}

function visitorDetail(wanted: RequestFor<'visitor'>['payload'], before: ReadyToSend['before']): PreviewDetail {
  const of = (field: 'name' | 'email') => {
    const [will, is] = [wanted[field], before[field] ?? null]
    if (will === undefined) return { changes: false, text: `${field} kept` }
    const changes = will !== is
    return { changes, text: changes ? `${field} ${quoteOrNone(is)} → ${quoteOrNone(will)}` : `${field} already ${quoteOrNone(is)}` }
  }
  const fields = [of('name'), of('email')]
  const would = fields.some(({ changes }) => changes) ? 'change' : 'nothing'
  return { would, detail: fields.map(({ text }) => text).join(', ') }
}

function quoteOrNone(value: string | null): string {
  return value === null ? 'none' : JSON.stringify(value)
}

function countCharacters(text: string): string {
  return text.length === 1 ? '1 character' : `${text.length} characters`
}

/** Throws what says nothing about the wish. */
export function describePreviewError(request: WritebackRequest, error: unknown): PreviewDetail {
  if (!(error instanceof ApiError)) throw error
  const { failure } = error
  if (failure.kind === 'denied' && failure.scope !== null)
    return { would: 'unknown', detail: `cannot be looked at: the key lacks the scope ${failure.scope}` }
  if (failure.kind !== 'refused' || !isRefusedByService(failure)) throw error
  if (failure.status !== 404) return { would: 'fail', detail: describeFailure(failure) }
  return { would: 'fail', detail: `no such ${targetKind[request.operation]}` }
}
