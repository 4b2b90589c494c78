/** The operations of the service: how each is addressed, which scope it needs, and what it does. */
import type { Json } from '../values/json.ts'
import { dayMs, type EpochMs, toTimestamp } from '../values/time.ts'
import type { Conversation } from './model.ts'
import { createQueryReader, notFound, Problem, readBody, validationProblem } from './problem.ts'
import type { Project } from './project.ts'
import { computeRollup } from './rollup.ts'
import type { Switches } from './switches.ts'

export const scopes = [
  'conversations:read',
  'conversations:write',
  'visitors:read',
  'visitors:write',
  'calls:read',
  'analytics:read',
  'availability:read',
] as const
export type Scope = (typeof scopes)[number]

/** Returns `data` of the response. Throws Problem. */
type Run = (request: {
  readonly project: Project
  readonly params: RouteMatch['params']
  readonly query: URLSearchParams
  readonly body: unknown
  readonly switches: Switches
  readonly now: EpochMs
  /** Random numbers of this request. */
  readonly draw: (part: number) => number
}) => Json

export type Endpoint = {
  /** As in schema/openapi.yaml. */
  readonly id: string
  readonly method: 'GET' | 'POST' | 'PATCH'
  readonly path: string
  /** Null: none is needed. */
  readonly scope: Scope | null
  readonly query: (s: Switches) => readonly string[]
  readonly run: Run
}

export const isWrite = (operation: Endpoint) => operation.method !== 'GET'
export const isList = (operation: Endpoint) => operation.id.startsWith('list')

const inProject = '/public/projects/{projectId}'
const oneConversation = '/public/conversations/{conversationId}'
const oneVisitor = `${inProject}/visitors/{visitorId}`
const oneCall = '/public/calls/{callId}'

/** `address`: method and path. `query`: the names of its query parameters. */
function operation(id: string, address: string, run: Run, ...query: string[]): Endpoint {
  const [method, path] = address.split(' ') as [Endpoint['method'], string]
  return { id, method, path, scope: scopeOf(method, path), query: () => query, run }
}

/** Named by the first resource in the path, and by whether it is written. */
function scopeOf(method: Endpoint['method'], path: string): Scope | null {
  const [resource] = /conversations|visitors|calls|analytics|availability/.exec(path) ?? []
  const name = `${resource}:${method === 'GET' ? 'read' : 'write'}`
  return scopes.find((scope) => scope === name) ?? null
}

const listConversations: Run = ({ project, query, switches: s }) => {
  const reader = createQueryReader(query, s)
  const handled =
    reader.flag('handled') ??
    { all: undefined, open: false, handled: true }[s['conversations.handled']]
  const matches = (row: Conversation) =>
    handled === undefined || (row.handledAt !== null) === handled
  return project
    .view()
    .conversations.page({ ...reader.page({ since: s['conversations.bound'] }), matches })
}

const listMessages: Run = ({ project, params, query, switches: s }) => {
  const conversation = project.view().conversations.find(params.conversationId)
  // The first hexadecimal digits of an id are evenly spread.
  if (Number.parseInt(conversation.id.slice(0, 4), 16) / 0x10000 < s['messages.forbidden'])
    throw new Problem('conversation_restricted')
  const paging = s['messages.paging']
  const bounds = paging === 'since' || paging === 'before' ? { [paging]: s['messages.bound'] } : {}
  const ignoresLimit = paging === 'all' || s['messages.limit'] === 'ignored'
  const page = createQueryReader(query, s).page(bounds, { size: s['messages.page'], ignoresLimit })
  const limit = paging === 'all' ? Number.MAX_SAFE_INTEGER : page.limit
  return project.view().messages.page(conversation, { ...page, limit })
}

const messageParameters = {
  since: ['since', 'limit'],
  before: ['before', 'limit'],
  limit: ['limit'],
  all: [],
}

const sendMessage: Run = ({ project: { mutate, view }, params, body }) => {
  const { content, senderName } = readBody(body, { content: 'text', senderName: 'text' })
  const conversation = view().conversations.find(params.conversationId)
  const sent = mutate.replyArrives(conversation.id, String(content), String(senderName))
  return view().messages.current(conversation, sent)
}

const setHandled: Run = ({ project: { mutate, view }, params, body, switches: s }) => {
  const { handled } = readBody(body, { handled: 'boolean' })
  const conversation = view().conversations.find(params.conversationId)
  const { id } = conversation
  if (s['writes.effect'] === 'none') return view().conversations.current(conversation)
  return view().conversations.current(mutate.setHandled(id, handled === true))
}

const storedForms: Record<Switches['visitors.stores'], (text: string | null) => string | null> = {
  'as-sent': (text) => text,
  'one-space': (text) => text?.trim().replace(/\s+/g, ' ') ?? null,
  'lower-case': (text) => text?.toLowerCase() ?? null,
  untagged: (text) => text?.replace(/\+[^@+]*@/, '@') ?? null,
  empty: (text) => text ?? '',
}

const updateVisitor: Run = ({ project: { mutate, view }, params, body, switches: s }) => {
  const { name, email } = readBody(body, { name: 'text or null', email: 'text or null' })
  const visitor = view().visitors.find(params.visitorId)
  const { id } = visitor
  if (s['writes.effect'] === 'none') return view().visitors.current(visitor)
  const textOrNull = (value: unknown) =>
    storedForms[s['visitors.stores']](typeof value === 'string' ? value : null)
  return view().visitors.current(mutate.renameVisitor(id, textOrNull(name), textOrNull(email)))
}

const addNote: Run = ({
  project: { mutate, view },
  params,
  body,
  switches: { 'note.field': field },
}) => {
  const fields = readBody(body, { [field]: 'text' })
  const { id } = view().visitors.find(params.visitorId)
  return view().note(mutate.addNote(id, String(fields[field])))
}

const listVisitors: Run = ({ project, query, switches: s }) =>
  project.view().visitors.page(createQueryReader(query, s).page({ since: s['visitors.bound'] }))

const listActivity: Run = ({ project, params, query, switches: s }) => {
  const page = createQueryReader(query, s).page({ before: s['activity.before'] })
  return project.view().activity.page(project.view().visitors.find(params.visitorId), page)
}

const listCalls: Run = ({ project, query, switches: s }) => {
  const bounds = { from: s['calls.from'], to: s['calls.to'] }
  const need = s['calls.window'] > 0 ? 'required' : s['calls.range']
  const page = createQueryReader(query, s).page(bounds, { need })
  const wideMs = (page.upper?.at ?? 0) - (page.lower?.at ?? 0)
  if (s['calls.window'] > 0 && wideMs > s['calls.window'] * dayMs)
    throw validationProblem({
      field: 'to',
      message: `must be within ${s['calls.window']} days of from`,
    })
  return project.view().calls.page(page)
}

const getRecording: Run = ({ project, params, switches: s }) => {
  const call = project.view().calls.find(params.callId)
  if (call.recordedAt === null && s['recordings.none'] === '404') throw notFound('recording')
  return project.view().recording(call)
}

/** A row that is read by its id, the path's only parameter beside the project. */
const single =
  (kind: 'conversations' | 'visitors' | 'calls'): Run =>
  ({ project, params }) =>
    project.view()[kind].single(params[`${kind.slice(0, -1)}Id`])

const month = 30 * dayMs

const getAnalytics: Run = ({ project, query, switches: s, now }) => {
  const reader = createQueryReader(query, s)
  const need = s['analytics.range']
  const from = reader.time('from', need)
  const to = reader.time('to', need)
  reader.throwIssues()
  const window = { from: from ?? now - month, to: to ?? now }
  const isUnreadable = s['analytics.unreadable'].includes(toTimestamp(window.from).slice(0, 10))
  return isUnreadable ? unreadableRollup(s['analytics.answer']) : computeRollup(project, window, s)
}

function unreadableRollup(answer: Switches['analytics.answer']): Json {
  if (answer === '400')
    throw validationProblem({ field: 'from', message: 'is a day without a rollup' })
  if (answer === '404') throw notFound('rollup')
  if (answer === 'too-large') return { calls: { total: 1 }, text: 'x'.repeat(41 * 2 ** 20) }
  return answer === 'null'
    ? null
    : { projectId: '00000000-0000-4000-8000-000000000000', calls: { total: 1 } }
}

const getAvailability: Run = ({ project, now, switches: s }) =>
  ({ plain: project.view().availability(now), list: [], text: 'available' })[
    s['availability.answer']
  ]

/** Every operation, except the widget's token. */
export const operations: readonly Endpoint[] = [
  operation(
    'listConversations',
    `GET ${inProject}/conversations`,
    listConversations,
    'handled',
    'since',
    'limit',
  ),
  operation('getConversation', `GET ${oneConversation}`, single('conversations')),
  {
    ...operation('listMessages', `GET ${oneConversation}/messages`, listMessages),
    query: (s) => messageParameters[s['messages.paging']],
  },
  operation('sendMessage', `POST ${oneConversation}/messages`, sendMessage),
  operation('setHandled', `POST ${oneConversation}/handled`, setHandled),
  operation('listVisitors', `GET ${inProject}/visitors`, listVisitors, 'since', 'limit'),
  operation('getVisitor', `GET ${oneVisitor}`, single('visitors')),
  operation('updateVisitor', `PATCH ${oneVisitor}`, updateVisitor),
  operation('listActivity', `GET ${oneVisitor}/activity`, listActivity, 'before', 'limit'),
  operation('addNote', `POST ${oneVisitor}/notes`, addNote),
  operation('listCalls', `GET ${inProject}/calls`, listCalls, 'from', 'to', 'limit'),
  operation('getCall', `GET ${oneCall}`, single('calls')),
  operation('getRecording', `GET ${oneCall}/recording`, getRecording),
  operation('getAnalytics', `GET ${inProject}/analytics`, getAnalytics, 'from', 'to'),
  operation('getAvailability', `GET ${inProject}/availability`, getAvailability),
]

export const widgetPath = '/v1/widget/token'

const visitorFields = { email: 'string', name: 'string', company: 'string' } as const

const mintWidgetToken: Run = ({ body, draw, now, switches: s }) => {
  const { visitor, ttl } = readBody(
    body,
    {},
    { visitor: 'object', metadata: 'object', ttl: 'integer' },
  )
  if (visitor !== undefined) readBody(visitor, {}, visitorFields)
  const seconds = typeof ttl === 'number' ? ttl : 600
  const token = `wgt_${[1, 2, 3].map((part) => draw(part).toString(36)).join('')}`
  const named = { token, ttl: seconds, expiresAt: toTimestamp(now + seconds * 1000) }
  const id = '7f0c5a52-6f0d-4f8e-9a56-0b3c1d2e4f60'
  const shapes: Record<Switches['token.answer'], Json> = {
    token: named,
    bare: named,
    access_token: { access_token: token, token_type: 'Bearer', expires_in: seconds },
    text: token,
    unnamed: { id, widget: { credential: token } },
    none: { id, queued: true },
  }
  return shapes[s['token.answer']]
}

/** It takes a bearer key, and needs no scope. */
const widgetOperation = operation('mintWidgetToken', `POST ${widgetPath}`, mintWidgetToken)

export type RouteMatch = {
  readonly operation: Endpoint
  readonly params: Readonly<Record<string, string | undefined>>
}

const routes = [...operations, widgetOperation].map((operation) => ({
  operation,
  parts: operation.path.split('/'),
}))

export function findRoute(method: string, path: string): RouteMatch | undefined {
  const given = path.split('/')
  const found = routes.find(
    ({ operation, parts }) =>
      operation.method === method &&
      parts.length === given.length &&
      parts.every((part, i) => part.startsWith('{') || part === given[i]),
  )
  if (found === undefined) return undefined
  const params = found.parts.flatMap((part, i) =>
    part.startsWith('{') ? [[part.slice(1, -1), given[i] ?? '']] : [],
  )
  return { operation: found.operation, params: Object.fromEntries(params) }
}
