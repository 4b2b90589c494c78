/** The five operations on visitors. */

import type { Visitor } from '../model.ts'
import { queryReader, readBody, usualPage } from './ask.ts'
import { lowest, upTo } from './bounds.ts'
import type { Json } from './json.ts'
import type { Asked, Operation } from './operation.ts'
import { endsOf, onWire, pageOf, single } from './paging.ts'
import { notFound } from './problem.ts'

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
    run: (asked) => single(asked.project.wire().visitor(visitorOf(asked)), asked.switches['single.shape']),
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

function visitorOf({ project, params }: Asked): Visitor {
  const found = project.view().find.visitor(params.visitorId ?? '')
  if (found === undefined) throw notFound('visitor')
  return found
}

function listVisitors({ project, query, switches: s }: Asked): Json {
  const read = queryReader(query, s)
  const [since, limit] = [read.time('since', 'optional'), read.limit(usualPage)]
  read.done()
  const bound = { inclusive: s['visitors.bound'] === 'inclusive', hidden: s['time.hidden'] }
  const [view, wire] = [project.view(), project.wire()]
  const page = pageOf(view.visitors(s['visitors.since']), {
    from: since === undefined ? undefined : lowest(since, bound),
    limit,
    ...endsOf(s['visitors.order'], since !== undefined),
    hasMore: s.hasMore,
    hollow: s['pages.hollow'],
  })
  return onWire(page, (row) => wire.visitor(view.copy.visitor(row)))
}

function updateVisitor(asked: Asked): Json {
  const { name, email } = readBody(asked.body, { name: 'text or null', email: 'text or null' })
  const { id } = visitorOf(asked)
  const { mutate, view, wire } = asked.project
  return wire().visitor(view().as.visitor(mutate.renameVisitor(id, textOrNull(name), textOrNull(email))))
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

function listActivity(asked: Asked): Json {
  const { project, query, switches: s } = asked
  const read = queryReader(query, s)
  const [before, limit] = [read.time('before', 'optional'), read.limit(usualPage)]
  read.done()
  const bound = { inclusive: s['activity.before'] === 'inclusive', hidden: s['time.hidden'] }
  const page = pageOf(project.view().activity(visitorOf(asked)), {
    to: before === undefined ? undefined : upTo(before, bound),
    limit,
    take: 'newest',
    first: 'newest',
    hasMore: s.hasMore,
    hollow: s['pages.hollow'],
  })
  return onWire(page, project.wire().activity)
}

function addNote(asked: Asked): Json {
  const field = asked.switches['note.field']
  const body = readBody(asked.body, { [field]: 'text' })
  const { id } = visitorOf(asked)
  return asked.project.wire().note(asked.project.mutate.addNote(id, String(body[field])))
}
