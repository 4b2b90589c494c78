/** The five operations on visitors. */

import type { Visitor } from '../model.ts'
import { lowerBound, upperBound } from './bounds.ts'
import type { Json } from './json.ts'
import type { Operation, OperationRequest } from './operation.ts'
import { pageEnds, takePage, toListData, toSingleRow } from './paging.ts'
import { notFound } from './problem.ts'
import { createQueryReader, defaultPageSize, readBody } from './read-request.ts'

export const visitorOperations: readonly Operation[] = [
  {
    id: 'listVisitors',
    method: 'GET',
    path: '/public/projects/{projectId}/visitors',
    scope: 'visitors:read',
    query: () => ['since', 'limit'],
    run: listVisitors,
  },
  {
    id: 'getVisitor',
    method: 'GET',
    path: '/public/projects/{projectId}/visitors/{visitorId}',
    scope: 'visitors:read',
    query: () => [],
    run: (request) =>
      toSingleRow(request.project.wire().visitor(findVisitor(request)), request.switches['single.shape']),
  },
  {
    id: 'updateVisitor',
    method: 'PATCH',
    path: '/public/projects/{projectId}/visitors/{visitorId}',
    scope: 'visitors:write',
    query: () => [],
    run: updateVisitor,
  },
  {
    id: 'listActivity',
    method: 'GET',
    path: '/public/projects/{projectId}/visitors/{visitorId}/activity',
    scope: 'visitors:read',
    query: () => ['before', 'limit'],
    run: listActivity,
  },
  {
    id: 'addNote',
    method: 'POST',
    path: '/public/projects/{projectId}/visitors/{visitorId}/notes',
    scope: 'visitors:write',
    query: () => [],
    run: addNote,
  },
]

function findVisitor({ project, params }: OperationRequest): Visitor {
  const found = project.view().find.visitor(params.visitorId ?? '')
  if (found === undefined) throw notFound('visitor')
  return found
}

function listVisitors({ project, query, switches: s }: OperationRequest): Json {
  const read = createQueryReader(query, s)
  const [since, limit] = [read.time('since', 'optional'), read.limit(defaultPageSize)]
  read.throwIssues()
  const bound = { inclusive: s['visitors.bound'] === 'inclusive', hidden: s['time.hidden'] }
  const [view, wire] = [project.view(), project.wire()]
  const page = takePage(view.visitors(s['visitors.since']), {
    from: since === undefined ? undefined : lowerBound(since, bound),
    limit,
    ...pageEnds(s['visitors.order'], since !== undefined),
    hasMore: s.hasMore,
    isEmptyWithBound: s['pages.hollow'],
  })
  return toListData(page, (row) => wire.visitor(view.asListed.visitor(row)))
}

function updateVisitor(request: OperationRequest): Json {
  const { name, email } = readBody(request.body, { name: 'text or null', email: 'text or null' })
  const { id } = findVisitor(request)
  const { mutate, view, wire } = request.project
  return wire().visitor(view().asShown.visitor(mutate.renameVisitor(id, textOrNull(name), textOrNull(email))))
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

function listActivity(request: OperationRequest): Json {
  const { project, query, switches: s } = request
  const read = createQueryReader(query, s)
  const [before, limit] = [read.time('before', 'optional'), read.limit(defaultPageSize)]
  read.throwIssues()
  const bound = { inclusive: s['activity.before'] === 'inclusive', hidden: s['time.hidden'] }
  const page = takePage(project.view().activity(findVisitor(request)), {
    to: before === undefined ? undefined : upperBound(before, bound),
    limit,
    takeFrom: 'newest',
    first: 'newest',
    hasMore: s.hasMore,
    isEmptyWithBound: s['pages.hollow'],
  })
  return toListData(page, project.wire().activity)
}

function addNote(request: OperationRequest): Json {
  const field = request.switches['note.field']
  const body = readBody(request.body, { [field]: 'text' })
  const { id } = findVisitor(request)
  return request.project.wire().note(request.project.mutate.addNote(id, String(body[field])))
}
