/** Describes what a line would change: compares the request with the current record. Pure. */

import { ApiError, describeFailure, isRefusedByService } from '../../core/api-failure.ts'
import type { ApiResponse } from '../../core/api-request.ts'
import { assertNever } from '../../core/assert-never.ts'
import { asJsonObject } from '../../core/json.ts'
import type { LinePreview } from '../../core/outbox/reports.ts'
import { targetKind, type WritebackRequest } from '../../core/outbox/writeback-request.ts'
import type { Guarded, ReadyToSend, RequestFor } from '../operations/operation-handler.ts'

export type PreviewDetail = Pick<LinePreview, 'would' | 'detail'>

export function describePreview(request: WritebackRequest, live: ApiResponse, guarded: Guarded): PreviewDetail {
  if (!guarded.canSend) return { would: guarded.event === 'invalid' ? 'fail' : 'conflict', detail: guarded.why }
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
  const describe = (field: 'name' | 'email') => {
    const [value, current] = [wanted[field], before[field] ?? null]
    if (value === undefined) return { changes: false, text: `${field} unchanged` }
    const changes = value !== current
    return {
      changes,
      text: changes
        ? `${field} ${quoteOrNone(current)} → ${quoteOrNone(value)}`
        : `${field} already ${quoteOrNone(current)}`,
    }
  }
  const fields = [describe('name'), describe('email')]
  const would = fields.some(({ changes }) => changes) ? 'change' : 'nothing'
  return { would, detail: fields.map(({ text }) => text).join(', ') }
}

function quoteOrNone(value: string | null): string {
  return value === null ? 'none' : JSON.stringify(value)
}

function countCharacters(text: string): string {
  return text.length === 1 ? '1 character' : `${text.length} characters`
}

/** Rethrows errors that do not concern this request. */
export function describePreviewError(request: WritebackRequest, error: unknown): PreviewDetail {
  if (!(error instanceof ApiError)) throw error
  const { failure } = error
  if (failure.kind === 'denied' && failure.scope !== null)
    return { would: 'unknown', detail: `cannot be read: the key lacks the scope ${failure.scope}` }
  if (failure.kind !== 'refused' || !isRefusedByService(failure)) throw error
  if (failure.status !== 404) return { would: 'fail', detail: describeFailure(failure) }
  return { would: 'fail', detail: `no such ${targetKind[request.operation]}` }
}
