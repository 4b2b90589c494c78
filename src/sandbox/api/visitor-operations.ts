/** The five operations on visitors. */

import type { Json } from '../../core/row.ts'
import type { Visitor } from '../model.ts'
import type { Operation, OperationRequest } from './operation.ts'
import { takePage, toListData, toSingleRow } from './paging.ts'
import { requireFound } from './problem.ts'
import { createQueryReader, defaultPageSize, readBody } from './read-request.ts'

export const visitorOperations: readonly Operation[] = [
  {
    id: 'listVisitors',
    method: 'GET',
    path: '/public/projects/{projectId}/visitors',
    scope: 'visitors:read',
    query: ['since', 'limit'],
    run: listVisitors,
  },
  {
    id: 'getVisitor',
    method: 'GET',
    path: '/public/projects/{projectId}/visitors/{visitorId}',
    scope: 'visitors:read',
    run: (request) =>
      toSingleRow(request.project.wire().visitor(findVisitor(request)), request.switches['single.shape']),
  },
  {
    id: 'updateVisitor',
    method: 'PATCH',
    path: '/public/projects/{projectId}/visitors/{visitorId}',
    scope: 'visitors:write',
    run: updateVisitor,
  },
  {
    id: 'listActivity',
    method: 'GET',
    path: '/public/projects/{projectId}/visitors/{visitorId}/activity',
    scope: 'visitors:read',
    query: ['before', 'limit'],
    run: listActivity,
  },
  {
    id: 'addNote',
    method: 'POST',
    path: '/public/projects/{projectId}/visitors/{visitorId}/notes',
    scope: 'visitors:write',
    run: addNote,
  },
]

function findVisitor({ project, params }: OperationRequest): Visitor {
  return requireFound(project.view().find.visitor(params.visitorId ?? ''), 'visitor')
}

function listVisitors({ project, query, switches: s }: OperationRequest): Json {
  const read = createQueryReader(query, s)
  const [since, limit] = [read.time('since', 'optional', s['visitors.bound']), read.limit(defaultPageSize)]
  read.throwIssues()
  const [view, wire] = [project.view(), project.wire()]
  const request = { since, sinceBound: s['visitors.bound'], limit, order: s['visitors.order'] }
  const page = takePage(view.visitors(s['visitors.since']), request, s)
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
  const [before, limit] = [read.time('before', 'optional', s['activity.before']), read.limit(defaultPageSize)]
  read.throwIssues()
  const pageRequest = { before, beforeBound: s['activity.before'], limit, order: s['activity.order'] }
  const page = takePage(project.view().activity(findVisitor(request)), pageRequest, s)
  return toListData(page, project.wire().activity)
}

function addNote(request: OperationRequest): Json {
  const field = request.switches['note.field']
  const body = readBody(request.body, { [field]: 'text' })
  const { id } = findVisitor(request)
  return request.project.wire().note(request.project.mutate.addNote(id, String(body[field])))
}
