/** The screens about write-backs: batches, one batch, one write-back, and the page before a decision. */
import { filterOf } from '../../app/console/decisions.ts'
import { type BatchView, batchPage } from '../../console/pages/batch.ts'
import { confirmPage } from '../../console/pages/confirm.ts'
import { emptyImport, importPage } from '../../console/pages/import.ts'
import { writebackPage } from '../../console/pages/writeback.ts'
import { writebacksPage } from '../../console/pages/writebacks.ts'
import { importRole, isDecision } from '../../core/console/decisions.ts'
import { hideMessages } from '../../core/console/hide-messages.ts'
import { type DecidingViewer, offeredForBatch, offeredForWriteback } from '../../core/console/offered-decisions.ts'
import { hasRole } from '../../core/console/roles.ts'
import { path } from '../../core/html/address.ts'
import { type ReviewOutcome, reviewOutcomes } from '../../core/outbox/review.ts'
import { type WritebackStatus, writebackStatuses } from '../../core/outbox/state.ts'
import { targetOf } from './decision-target.ts'
import type { Screen, ScreenRequest } from './screens.ts'

export const writebackScreens: readonly Screen[] = [
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

async function showWritebacks(request: ScreenRequest) {
  const { writebacks, project, frame, query } = request
  const status = statusOf(query('status'))
  const data = await writebacks.list(project, { status, after: query('after'), before: query('before') })
  const mayImport = frame.canDecide && frame.viewer !== null && hasRole(frame.viewer.role, importRole)
  return writebacksPage({ data: shown(request, data), mayImport }, frame)
}

async function showBatch(request: ScreenRequest) {
  const { writebacks, project, frame, params, query } = request
  const status = statusOf(query('status'))
  const would = outcomeOf(query('would'))
  const after = query('after')
  const position = after !== null && /^\d{1,15}$/.test(after) ? after : null
  const data = await writebacks.batch(project, params.id ?? '', { status, would, after: position })
  if (data === null) return null
  const deciding = decidingOf(request)
  const offered = deciding === null ? [] : offeredForBatch(data.report, data.undoUntil, deciding, frame.now)
  const view: BatchView = { data: shown(request, data), offered, would, status }
  return batchPage(view, frame)
}

async function showWriteback(request: ScreenRequest) {
  const { writebacks, project, frame, params } = request
  const data = await writebacks.writeback(project, params.id ?? '')
  if (data === null) return null
  const { writeback } = data.report
  const deciding = decidingOf(request)
  const offered = deciding === null ? [] : offeredForWriteback(writeback, deciding, frame.now)
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

function shown<T>({ frame }: ScreenRequest, found: T): T {
  return frame.viewer?.hidesMessages === true ? hideMessages(found) : found
}
