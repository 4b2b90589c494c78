/** The operations of the service: how each is addressed, which scope it needs, and what it does. */
import type { Json } from '../values/json.ts'
import { type EpochMs, toTimestamp } from '../values/time.ts'
import type { Conversation, PhoneCall, Visitor } from './model.ts'
import { takePage, toListData, toSingleRow } from './paging.ts'
import { createQueryReader, notFound, Problem, readBody, requireFound, validationProblem } from './problem.ts'
import type { Project } from './project.ts'
import { purposes } from './random.ts'
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

/** An authorized request. */
type OperationRequest = {
  readonly project: Project
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  readonly body: unknown
  readonly switches: Switches
  readonly now: EpochMs
}

export type Operation = {
  /** As in schema/openapi.yaml. */
  readonly id: string
  readonly method: 'GET' | 'POST' | 'PATCH'
  readonly path: string
  readonly scope: Scope
  /** The names of its query parameters. */
  readonly query: (s: Switches) => readonly string[]
  /** Returns `data` of the response. Throws Problem. */
  readonly run: (request: OperationRequest) => Json
}

export const isWrite = (operation: Operation) => operation.method !== 'GET'
export const isList = (operation: Operation) => operation.id.startsWith('list')

const inProject = '/public/projects/{projectId}'
const oneConversation = '/public/conversations/{conversationId}'
const oneVisitor = `${inProject}/visitors/{visitorId}`
const oneCall = '/public/calls/{callId}'

/** Every operation, except the widget's token. */
export const operations: readonly Operation[] = [
  read(
    'listConversations',
    `${inProject}/conversations`,
    'conversations',
    listConversations,
    'handled',
    'since',
    'limit',
  ),
  read('getConversation', oneConversation, 'conversations', getConversation),
  { ...read('listMessages', `${oneConversation}/messages`, 'conversations', listMessages), query: messageParameters },
  write('sendMessage', 'POST', `${oneConversation}/messages`, 'conversations', sendMessage),
  write('setHandled', 'POST', `${oneConversation}/handled`, 'conversations', setHandled),
  read('listVisitors', `${inProject}/visitors`, 'visitors', listVisitors, 'since', 'limit'),
  read('getVisitor', oneVisitor, 'visitors', getVisitor),
  write('updateVisitor', 'PATCH', oneVisitor, 'visitors', updateVisitor),
  read('listActivity', `${oneVisitor}/activity`, 'visitors', listActivity, 'before', 'limit'),
  write('addNote', 'POST', `${oneVisitor}/notes`, 'visitors', addNote),
  read('listCalls', `${inProject}/calls`, 'calls', listCalls, 'from', 'to', 'limit'),
  read('getCall', oneCall, 'calls', getCall),
  read('getRecording', `${oneCall}/recording`, 'calls', getRecording),
  read('getAnalytics', `${inProject}/analytics`, 'analytics', getAnalytics, 'from', 'to'),
  read('getAvailability', `${inProject}/availability`, 'availability', getAvailability),
]

type Readable = 'conversations' | 'visitors' | 'calls' | 'analytics' | 'availability'
type Run = Operation['run']

function read(id: string, path: string, of: Readable, run: Run, ...query: string[]): Operation {
  return { id, method: 'GET', path, scope: `${of}:read`, query: () => query, run }
}

type Writable = 'conversations' | 'visitors'

function write(id: string, method: 'POST' | 'PATCH', path: string, of: Writable, run: Run): Operation {
  return { id, method, path, scope: `${of}:write`, query: () => [], run }
}

function findConversation({ project, params }: OperationRequest): Conversation {
  return requireFound(project.view().find.conversation(params.conversationId ?? ''), 'conversation')
}

function findVisitor({ project, params }: OperationRequest): Visitor {
  return requireFound(project.view().find.visitor(params.visitorId ?? ''), 'visitor')
}

function findCall({ project, params }: OperationRequest): PhoneCall {
  return requireFound(project.view().find.call(params.callId ?? ''), 'call')
}

function listConversations({ project, query, switches: s }: OperationRequest): Json {
  const read = createQueryReader(query, s)
  const handled = read.flag('handled') ?? { all: undefined, open: false, handled: true }[s['conversations.handled']]
  const matches = (row: Conversation) => handled === undefined || (row.handledAt !== null) === handled
  const request = { ...read.page({ since: s['conversations.bound'] }), order: s['conversations.order'], matches }
  const [view, wire] = [project.view(), project.wire()]
  const page = takePage(view.conversations(s['conversations.since']), request, s)
  return toListData(page, (row) => wire.conversation(view.asListed.conversation(row)))
}

function getConversation(request: OperationRequest): Json {
  return toSingleRow(request.project.wire().conversation(findConversation(request)), request.switches)
}

function messageParameters(s: Switches): readonly string[] {
  const paging = s['messages.paging']
  if (paging === 'all') return []
  return paging === 'limit' ? ['limit'] : [paging, 'limit']
}

function listMessages(request: OperationRequest): Json {
  const { project, query, switches: s } = request
  const conversation = findConversation(request)
  // The first hexadecimal digits of an id are evenly spread.
  if (Number.parseInt(conversation.id.slice(0, 4), 16) / 0x10000 < s['messages.forbidden'])
    throw new Problem('conversation_restricted', 'This conversation is restricted')
  const paging = s['messages.paging']
  const bounds = paging === 'since' || paging === 'before' ? { [paging]: s['messages.bound'] } : {}
  const ignoresLimit = paging === 'all' || s['messages.limit'] === 'ignored'
  const read = createQueryReader(query, s).page(bounds, { size: s['messages.page'], ignoresLimit })
  const limit = paging === 'all' ? Number.MAX_SAFE_INTEGER : read.limit
  const page = takePage(project.view().messages(conversation), { ...read, limit, order: s['messages.order'] }, s)
  return toListData(page, (row) => project.wire().message(conversation.id, row))
}

function sendMessage(request: OperationRequest): Json {
  const body = readBody(request.body, { content: 'text', senderName: 'text' })
  const conversation = findConversation(request)
  const { mutate, view, wire } = request.project
  const sent = mutate.replyArrives(conversation.id, String(body.content), String(body.senderName))
  return wire().message(conversation.id, view().asShown.message(conversation, sent))
}

function setHandled(request: OperationRequest): Json {
  const body = readBody(request.body, { handled: 'boolean' })
  const { id } = findConversation(request)
  const { mutate, view, wire } = request.project
  return wire().conversation(view().asShown.conversation(mutate.setHandled(id, body.handled === true)))
}

function listVisitors({ project, query, switches: s }: OperationRequest): Json {
  const request = createQueryReader(query, s).page({ since: s['visitors.bound'] })
  const [view, wire] = [project.view(), project.wire()]
  const page = takePage(view.visitors(s['visitors.since']), { ...request, order: s['visitors.order'] }, s)
  return toListData(page, (row) => wire.visitor(view.asListed.visitor(row)))
}

function getVisitor(request: OperationRequest): Json {
  return toSingleRow(request.project.wire().visitor(findVisitor(request)), request.switches)
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
  const read = createQueryReader(query, s).page({ before: s['activity.before'] })
  const rows = project.view().activity(findVisitor(request))
  return toListData(takePage(rows, { ...read, order: s['activity.order'] }, s), project.wire().activity)
}

function addNote(request: OperationRequest): Json {
  const field = request.switches['note.field']
  const body = readBody(request.body, { [field]: 'text' })
  const { id } = findVisitor(request)
  return request.project.wire().note(request.project.mutate.addNote(id, String(body[field])))
}

function listCalls({ project, query, switches: s }: OperationRequest): Json {
  const bounds = { from: s['calls.from'], to: s['calls.to'] }
  const request = createQueryReader(query, s).page(bounds, { need: s['calls.range'] })
  const [view, wire] = [project.view(), project.wire()]
  const page = takePage(view.calls(s['calls.by']), { ...request, order: s['calls.order'] }, s)
  return toListData(page, (row) => wire.call(view.asListed.call(row)))
}

function getCall(request: OperationRequest): Json {
  return toSingleRow(request.project.wire().call(findCall(request)), request.switches)
}

function getRecording(request: OperationRequest): Json {
  const call = findCall(request)
  if (call.recordedAt === null && request.switches['recordings.none'] === '404') throw notFound('recording')
  return request.project.wire().recording(call)
}

const month = 30 * 86_400_000

function getAnalytics({ project, query, switches: s, now }: OperationRequest): Json {
  const read = createQueryReader(query, s)
  const need = s['analytics.range']
  const [from, to] = [read.time('from', need), read.time('to', need)]
  read.throwIssues()
  const window = { from: from ?? now - month, to: to ?? now }
  const isUnreadable = s['analytics.unreadable'].includes(toTimestamp(window.from).slice(0, 10))
  return isUnreadable ? unreadableRollup(s['analytics.answer']) : computeRollup(project, window, s)
}

function unreadableRollup(answer: Switches['analytics.answer']): Json {
  if (answer === '400') throw validationProblem({ field: 'from', message: 'is a day without a rollup' })
  if (answer === '404') throw notFound('rollup')
  if (answer === 'too-large') return { calls: { total: 1 }, text: 'x'.repeat(41 * 2 ** 20) }
  return answer === 'null' ? null : { projectId: '00000000-0000-4000-8000-000000000000', calls: { total: 1 } }
}

function getAvailability({ project, now, switches: s }: OperationRequest): Json {
  return { plain: computeAvailability(project, now), list: [], text: 'available' }[s['availability.answer']]
}

export function computeAvailability({ id, state }: Project, now: EpochMs): Json {
  const agentsOnline = state.seedData.random(purposes.agent, 0, Math.floor(now / 60_000)) % 5
  return { projectId: id, available: agentsOnline > 0, agentsOnline }
}

export type RouteMatch = { readonly operation: Operation; readonly params: Readonly<Record<string, string>> }

const routes = operations.map((operation) => ({ operation, parts: operation.path.split('/') }))

export function findRoute(method: string, path: string): RouteMatch | undefined {
  const given = path.split('/')
  for (const { operation, parts } of routes) {
    if (operation.method !== method || parts.length !== given.length) continue
    const params = matchPath(parts, given)
    if (params !== undefined) return { operation, params }
  }
  return undefined
}

function matchPath(parts: readonly string[], given: readonly string[]): Record<string, string> | undefined {
  const params: Record<string, string> = {}
  for (const [n, part] of parts.entries()) {
    const value = given[n] ?? ''
    if (part.startsWith('{')) params[part.slice(1, -1)] = decodeSegment(value)
    else if (part !== value) return undefined
  }
  return params
}

function decodeSegment(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
