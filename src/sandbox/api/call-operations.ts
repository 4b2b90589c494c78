/** The three operations on calls. */

import type { Json } from '../../core/row.ts'
import type { PhoneCall } from '../model.ts'
import type { Operation, OperationRequest } from './operation.ts'
import { takePage, toListData, toSingleRow } from './paging.ts'
import { notFound, requireFound } from './problem.ts'
import { createQueryReader, defaultPageSize } from './read-request.ts'

export const callOperations: readonly Operation[] = [
  {
    id: 'listCalls',
    method: 'GET',
    path: '/public/projects/{projectId}/calls',
    scope: 'calls:read',
    query: ['from', 'to', 'limit'],
    run: listCalls,
  },
  {
    id: 'getCall',
    method: 'GET',
    path: '/public/calls/{callId}',
    scope: 'calls:read',
    run: (request) => toSingleRow(request.project.wire().call(findCall(request)), request.switches['single.shape']),
  },
  {
    id: 'getRecording',
    method: 'GET',
    path: '/public/calls/{callId}/recording',
    scope: 'calls:read',
    run: getRecording,
  },
]

function findCall({ project, params }: OperationRequest): PhoneCall {
  return requireFound(project.view().find.call(params.callId ?? ''), 'call')
}

function listCalls({ project, query, switches: s }: OperationRequest): Json {
  const read = createQueryReader(query, s)
  const need = s['calls.range']
  const [from, to] = [read.time('from', need, s['calls.from']), read.time('to', need, s['calls.to'])]
  const limit = read.limit(defaultPageSize)
  read.throwIssues()
  const [view, wire] = [project.view(), project.wire()]
  const bounds = { since: from, sinceBound: s['calls.from'], before: to, beforeBound: s['calls.to'] }
  const page = takePage(view.calls(s['calls.by']), { ...bounds, limit, order: s['calls.order'] }, s)
  return toListData(page, (row) => wire.call(view.asListed.call(row)))
}

function getRecording(request: OperationRequest): Json {
  const call = findCall(request)
  if (call.recordedAt === null && request.switches['recordings.none'] === '404') throw notFound('recording')
  return request.project.wire().recording(call)
}
