/** The screens below `/console/p/:project`: who may see each, and how its data become a page. */

import { streamNames } from '../../../schema/stream-specs.ts'
import { parseSearch } from '../../analytics/core/search-words.ts'
import { hasRole, type Role } from '../../config/roles.ts'
import { isDecision } from '../../outbox/core/decisions.ts'
import { type ReviewOutcome, reviewOutcomes } from '../../outbox/core/review.ts'
import { type WritebackStatus, writebackStatuses } from '../../outbox/core/state.ts'
import { path } from '../../values/address.ts'
import { hideMessages } from '../core/data.ts'
import { type DecidingViewer, importRole, offeredForBatch, offeredForWriteback } from '../core/permissions.ts'
import type { ConsoleData } from '../data/console-data.ts'
import type { ConsoleProject } from '../data/console-project.ts'
import { filterOf } from '../data/decisions.ts'
import type { WritebackReads } from '../data/writeback-data.ts'
import type { Page, ProjectFrame } from '../page.ts'
import { type BatchView, batchPage } from '../pages/batch.ts'
import { budgetPage } from '../pages/budget.ts'
import { chartsPage } from '../pages/charts.ts'
import { confirmPage } from '../pages/confirm.ts'
import { conversationPage } from '../pages/conversation.ts'
import { emptyImport, importPage } from '../pages/import.ts'
import { overviewPage } from '../pages/overview.ts'
import { runPage, runsPage } from '../pages/runs.ts'
import { searchPage, visitorPage } from '../pages/search.ts'
import { schemaPage, servicePage } from '../pages/service.ts'
import { streamPage, streamsPage } from '../pages/streams.ts'
import { waitingPage } from '../pages/waiting.ts'
import { writebackPage } from '../pages/writeback.ts'
import { writebacksPage } from '../pages/writebacks.ts'
import { targetOf, type Values } from './decision-target.ts'

type ScreenRequest = {
  readonly data: ConsoleData
  readonly writebacks: WritebackReads
  readonly project: ConsoleProject
  readonly frame: ProjectFrame
  readonly params: Readonly<Record<string, string>>
  /** A parameter of the address; null = it is missing or empty. */
  readonly query: (name: string) => string | null
  /** The client has left. */
  readonly signal: AbortSignal
  /** A parameter that may be given several times. */
  readonly all: Values
}

/** `show` returns null if there is no such thing, or the address of another page. */
export type Screen = {
  readonly path: string
  readonly role: Role
  /** It leads to a decision: there is no such page where nothing can be decided. */
  readonly isDecision?: boolean
  readonly show: (request: ScreenRequest) => Promise<Page | { readonly redirect: string } | null>
}

const rowsPerPage = 50

/** For those who look after the mirror: overview, streams, runs, budget, charts, schema, service. */
const dataScreens: readonly Screen[] = [
  {
    path: '',
    role: 'viewer',
    show: async ({ data, project, frame }) => overviewPage(await data.overview(project), frame),
  },
  {
    path: '/streams',
    role: 'viewer',
    show: async ({ data, project, frame }) => streamsPage(await data.streams(project), frame),
  },
  {
    path: '/streams/:stream',
    role: 'viewer',
    show: async ({ data, project, frame, params }) => {
      const stream = streamNames.find((name) => name === params.stream)
      const found = stream === undefined ? null : await data.stream(project, stream)
      return found === null ? null : streamPage(found, frame)
    },
  },
  {
    path: '/runs',
    role: 'viewer',
    show: async ({ data, project, frame, query }) => {
      const reads = await data.reads(project)
      const outcome = query('outcome')
      const runs = await reads.runs(outcome, query('before'), rowsPerPage)
      return runsPage({ runs, outcome, next: runs.length < rowsPerPage ? null : (runs.at(-1)?.id ?? null) }, frame)
    },
  },
  {
    path: '/runs/:id',
    role: 'viewer',
    show: async ({ data, project, frame, params }) => {
      const run = await (await data.reads(project)).run(params.id ?? '')
      return run === null ? null : runPage(run, frame)
    },
  },
  {
    path: '/budget',
    role: 'viewer',
    show: async ({ data, project, frame, query }) => {
      const over = spanOf(query('over'), budgetSpans)
      const { ms, stepMs } = budgetSpans[over]
      const budget = await (await data.reads(project)).budget(frame.now - ms, frame.now, stepMs)
      return budgetPage({ data: { limit: project.limit, ...budget }, over, choices: Object.keys(budgetSpans) }, frame)
    },
  },
  {
    path: '/charts',
    role: 'viewer',
    show: async ({ data, project, frame, query }) => {
      const over = spanOf(query('over'), chartSpans)
      const from = new Date(frame.now - chartSpans[over] * dayMs).toISOString().slice(0, 10)
      return chartsPage({ days: await data.days(project, from), over, choices: Object.keys(chartSpans) }, frame)
    },
  },
  {
    path: '/schema',
    role: 'viewer',
    show: async ({ data, project, frame }) => schemaPage(await (await data.reads(project)).fields(), frame),
  },
  {
    path: '/service',
    role: 'viewer',
    show: async ({ data, project, frame }) => servicePage(await (await data.reads(project)).service(frame.now), frame),
  },
]

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** How long, and how long one bar is: some 60 to 100 bars. */
const budgetSpans = {
  '1 hour': { ms: hourMs, stepMs: 60_000 },
  '24 hours': { ms: dayMs, stepMs: 15 * 60_000 },
  '7 days': { ms: 7 * dayMs, stepMs: 2 * hourMs },
  '30 days': { ms: 30 * dayMs, stepMs: 8 * hourMs },
} as const

const chartSpans = { '30 days': 30, '14 days': 14, '90 days': 90, '365 days': 365 } as const

/** The first one if the address names none of them. */
function spanOf<Spans extends object>(asked: string | null, spans: Spans): keyof Spans & string {
  const names = Object.keys(spans) as (keyof Spans & string)[]
  const [first] = names
  const found = names.find((name) => name === asked) ?? first
  if (found === undefined) throw new Error('there are no spans')
  return found
}

/** For those who answer: who waits, search, one conversation, one visitor. */
const supportScreens: readonly Screen[] = [
  { path: '/waiting', role: 'viewer', show: showWaiting },
  { path: '/search', role: 'viewer', show: showSearch },
  { path: '/conversations/:id', role: 'viewer', show: showConversation },
  { path: '/visitors/:id', role: 'viewer', show: showVisitor },
]

async function showWaiting(request: ScreenRequest) {
  const { data, project, frame, query } = request
  const seconds = Number(query('older') ?? 0)
  const minAgeMs = Number.isInteger(seconds) && seconds > 0 && seconds < 1e9 ? seconds * 1000 : 0
  const isUnassigned = query('assigned') === 'none'
  const after = query('after')
  const isCursor = after !== null && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ \S+$/.test(after)
  const reads = await data.reads(project)
  const found = await reads.waiting({ minAgeMs, isUnassigned, after: isCursor ? after : null }, frame.now)
  return waitingPage({ data: shown(request, found), minAgeMs, isUnassigned }, frame)
}

async function showSearch({ data, project, frame, query }: ScreenRequest) {
  const text = query('q')
  if (text === null) return searchPage({ query: '', data: null, words: [], isIndexed: project.hasSearch }, frame)
  const found = await (await data.reads(project)).search(text, query('before'))
  if (found.kind !== 'found') return { redirect: path`/console/p/${project.name}/${`${found.kind}s`}/${found.id}` }
  // Whether a word is found says that it is there, so who may not read messages finds things by their ids only.
  const visible = frame.viewer?.hidesMessages === true ? { ...found, people: [], conversations: [], next: null } : found
  return searchPage({ query: text, data: visible, words: parseSearch(text).words, isIndexed: project.hasSearch }, frame)
}

async function showConversation(request: ScreenRequest) {
  const { data, project, frame, params, query } = request
  const found = await (await data.reads(project)).conversation(params.id ?? '', query('before'))
  return found === null ? null : conversationPage(shown(request, found), frame)
}

async function showVisitor(request: ScreenRequest) {
  const { data, project, frame, params } = request
  const found = await (await data.reads(project)).visitor(params.id ?? '')
  return found === null ? null : visitorPage(shown(request, found), frame)
}

function shown<T>({ frame }: ScreenRequest, found: T): T {
  return frame.viewer?.hidesMessages === true ? hideMessages(found) : found
}

/** About write-backs: batches, one batch, one write-back, and the page before a decision. */
const writebackScreens: readonly Screen[] = [
  { path: '/writebacks', role: 'viewer', show: showWritebacks },
  { path: '/batches/:id', role: 'viewer', show: showBatch },
  { path: '/writebacks/:id', role: 'viewer', show: showWriteback },
  { path: '/confirm', role: 'operator', show: showConfirmation, isDecision: true },
  {
    path: '/import',
    role: importRole,
    isDecision: true,
    show: async ({ frame }) => importPage(emptyImport, frame),
  },
]

export const projectScreens: readonly Screen[] = [...dataScreens, ...supportScreens, ...writebackScreens]

async function showWritebacks(request: ScreenRequest) {
  const { writebacks, project, frame, query } = request
  const status = statusOf(query('status'))
  const data = await writebacks.list(project, { status, after: query('after'), before: query('before') })
  const mayImport = frame.canDecide && frame.viewer !== null && hasRole(frame.viewer.role, importRole)
  return writebacksPage({ data: shown(request, data), mayImport }, frame)
}

async function showBatch(request: ScreenRequest) {
  const { writebacks, project, frame, params, query, signal } = request
  const status = statusOf(query('status'))
  const would = outcomeOf(query('would'))
  const after = query('after')
  const position = after !== null && /^\d{1,15}$/.test(after) ? after : null
  const data = await writebacks.batch(project, params.id ?? '', { status, would, after: position }, signal)
  if (data === null) return null
  const deciding = decidingOf(request)
  const offered = deciding === null ? [] : offeredForBatch(data.report, data.undoUntil, deciding)
  const view: BatchView = { data: shown(request, data), offered, would, status }
  return batchPage(view, frame)
}

async function showWriteback(request: ScreenRequest) {
  const { writebacks, project, frame, params } = request
  const data = await writebacks.writeback(project, params.id ?? '')
  if (data === null) return null
  const { writeback } = data.report
  const deciding = decidingOf(request)
  const offered = deciding === null ? [] : offeredForWriteback(writeback, data.undoUntil, deciding)
  return writebackPage({ data: shown(request, data), offered }, frame)
}

/** Rows that a person sees before they confirm. */
const rowsShown = 50

async function showConfirmation(request: ScreenRequest) {
  const { writebacks, project, frame, all, query, signal } = request
  const decision = query('decision')
  const target = targetOf(all)
  if (!isDecision(decision) || target === null) return null
  const { batch, ids, would } = target
  const filter = await filterOf(writebacks, project, { decision, ...target }, signal)
  const named = JSON.stringify([decision, batch, ids, would])
  const data = await writebacks.shownSelection(named, { project, filter, limit: rowsShown }, signal)
  const { queued = 0, sending = 0 } = data.batch?.counts ?? {}
  const isMoving = decision === 'cancel' && ids === null && would === null && queued + sending > 0
  const [first] = ids ?? []
  const back =
    batch !== null
      ? path`/console/p/${project.name}/batches/${batch}`
      : path`/console/p/${project.name}/writebacks/${first ?? ''}`
  const fields = {
    ...(batch === null ? {} : { batch }),
    ...(ids === null ? {} : { id: ids }),
    ...(would === null ? {} : { would }),
  }
  const takesMs = await writebacks.estimateMs(project, data.operations)
  const view = { decision, data: shown(request, data), fields, isMoving, takesMs, graceMs: project.graceMs, back }
  return confirmPage(view, frame)
}

/** Null: this viewer decides nothing here. */
function decidingOf({ frame, project }: ScreenRequest): DecidingViewer | null {
  const { viewer, canDecide } = frame
  return viewer === null || !canDecide ? null : { viewer, approveOwn: project.approveOwn }
}

function statusOf(text: string | null): WritebackStatus | null {
  return writebackStatuses.find((status) => status === text) ?? null
}

function outcomeOf(text: string | null): ReviewOutcome | null {
  return reviewOutcomes.find((outcome) => outcome === text) ?? null
}
