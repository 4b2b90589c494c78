/** The three operations on calls. */

import type { PhoneCall } from '../model.ts'
import { queryReader, usualPage } from './ask.ts'
import { lowest, upTo } from './bounds.ts'
import type { Json } from './json.ts'
import type { Asked, Operation } from './operation.ts'
import { endsOf, onWire, pageOf, single } from './paging.ts'
import { notFound } from './problem.ts'

export const callOperations: readonly Operation[] = [
  {
    id: 'listCalls',
    method: 'GET',
    path: '/public/projects/{projectId}/calls',
    scope: 'calls:read',
    query: () => ['from', 'to', 'limit'],
    run: listCalls,
  },
  {
    id: 'getCall',
    method: 'GET',
    path: '/public/calls/{callId}',
    scope: 'calls:read',
    query: () => [],
    run: (asked) => single(asked.project.wire().call(callOf(asked)), asked.switches['single.shape']),
  },
  {
    id: 'getRecording',
    method: 'GET',
    path: '/public/calls/{callId}/recording',
    scope: 'calls:read',
    query: () => [],
    run: getRecording,
  },
]

function callOf({ project, params }: Asked): PhoneCall {
  const found = project.view().find.call(params.callId ?? '')
  if (found === undefined) throw notFound('call')
  return found
}

function listCalls({ project, query, switches: s }: Asked): Json {
  const read = queryReader(query, s)
  const need = s['calls.range']
  const [from, to, limit] = [read.time('from', need), read.time('to', need), read.limit(usualPage)]
  read.done()
  const hidden = s['time.hidden']
  const [view, wire] = [project.view(), project.wire()]
  const page = pageOf(view.calls(s['calls.by']), {
    from: from === undefined ? undefined : lowest(from, { inclusive: s['calls.from'] === 'inclusive', hidden }),
    to: to === undefined ? undefined : upTo(to, { inclusive: s['calls.to'] === 'inclusive', hidden }),
    limit,
    ...endsOf(s['calls.order'], from !== undefined || to !== undefined),
    hasMore: s.hasMore,
    hollow: s['pages.hollow'],
  })
  return onWire(page, (row) => wire.call(view.copy.call(row)))
}

function getRecording(asked: Asked): Json {
  const call = callOf(asked)
  if (call.recordedAt === null && asked.switches['recordings.none'] === '404') throw notFound('recording')
  return asked.project.wire().recording(call)
}
