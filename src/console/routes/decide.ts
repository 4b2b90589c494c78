/** Decisions: a form that is posted, checked against role and state, made, written to the audit log, and answered by a page. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Viewer } from '../../config/roles.ts'
import { type DecisionName, decisions, isDecision, type NewAuditEvent } from '../../outbox/core/decisions.ts'
import { presentStatuses } from '../../outbox/core/state.ts'
import { path } from '../../values/address.ts'
import type { ProjectName } from '../../values/project.ts'
import { UserError } from '../../values/user-error.ts'
import { type DecisionSubject, missingRole } from '../core/permissions.ts'
import type { SelectionData } from '../core/writeback-data.ts'
import type { ConsoleProject } from '../data/console-project.ts'
import { type DecisionOutcome, type DecisionTarget, filterOf, type MadeDecision } from '../data/decisions.ts'
import type { ProjectFrame } from '../page.ts'
import { typedOver } from '../pages/confirm.ts'
import { movedPage } from '../pages/moved.ts'
import { resultPage } from '../pages/result.ts'
import { problemPage } from '../pages/sign-in.ts'
import type { ConsoleOptions } from './console-options.ts'
import { targetOf, valuesOf } from './decision-target.ts'
import type { FrameFor, SendPage } from './send-page.ts'

type Asked = {
  readonly project: ConsoleProject
  readonly viewer: Viewer
  readonly target: DecisionTarget
  readonly digest: string | null
  readonly typed: string | null
}

export function addDecisions(app: FastifyInstance, options: ConsoleOptions, frameFor: FrameFor, send: SendPage): void {
  app.post<{ Params: { project: ProjectName } }>('/p/:project/decide', async (request, reply) => {
    const { viewer, params } = request
    const made = options.decisions()
    const project = (await options.projects()).find(({ name }) => name === params.project)
    if (viewer === null || project === undefined) return reply.callNotFound()
    if (made === null) return refuse(reply, send, request, 403, 'Nothing can be decided here: this console only shows.')
    const asked = readForm(request, project, viewer)
    if (asked === null) return refuse(reply, send, request, 400, 'The form does not say what is to be decided.')
    const refusal = await findRefusal(options, asked)
    if (refusal !== null) return refuse(reply, send, request, ...refusal)
    const wrongNumber = await findWrongNumber(options, asked)
    if (wrongNumber !== null) return refuse(reply, send, request, 400, wrongNumber)
    const outcome = await made
      .decide(project, {
        ...{ ...asked.target, digest: asked.digest, by: viewer.name },
        audit: (count) => auditOf(asked, true, count),
      })
      .catch(returnRefusal)
    if (outcome instanceof UserError) return refuseAsItIs(reply, send, asked, outcome)
    const [isMade, { action: decision, subject }] = [outcome.kind === 'made', auditOf(asked, true, 0)]
    options.log.info({
      event: 'console.decided',
      person: viewer.name,
      decision,
      subject,
      isMade,
      project: project.name,
    })
    if (!isMade) await options.audit.append(auditOf(asked, false, 0))
    const frame = { ...(await frameFor(viewer, project)), project: project.name } satisfies ProjectFrame
    return answer(reply, send, asked, outcome, frame)
  })
}

function readForm(request: FastifyRequest, project: ConsoleProject, viewer: Viewer): Asked | null {
  const values = valuesOf(request.body)
  const [decision = null] = values('decision')
  const target = targetOf(values)
  if (!isDecision(decision) || target === null) return null
  if (decisions[decision].isAboutBatch && (target.batch === null || target.ids !== null || target.would !== null))
    return null
  const [digest = null] = values('digest')
  // The beginning of a digest is for people who write it down; a page gives the whole one.
  if (digest !== null && !/^[0-9a-f]{64}$/.test(digest)) return null
  const [typed = null] = values('typed')
  return { project, viewer, target: { decision, ...target }, digest, typed }
}

type Refusal = readonly [status: 403 | 409, why: string]

/** By what it is about as it is now, not as the form says. */
async function findRefusal(
  { writebacks }: ConsoleOptions,
  { project, viewer, target }: Asked,
): Promise<Refusal | null> {
  const { decision, batch, ids } = target
  const filter = { ...(batch === null ? {} : { batch }), ...(ids === null ? {} : { ids }) }
  const { entries, batch: known } = await writebacks.selection(project, filter, ids?.length ?? 0)
  const role = missingRole(viewer, decision, ids === null ? subjectOf(known) : subjectOfRows(entries))
  if (role !== null) return [403, `This needs the role ${role}.`]
  // The command line takes beginnings of ids, and they may be of rows that are not among these.
  return ids === null || entries.length === ids.length ? null : [409, 'Not all of these write-backs are there.']
}

function subjectOf(batch: SelectionData['batch']): DecisionSubject {
  return { createdBy: batch?.createdBy ?? null, statuses: presentStatuses(batch?.counts ?? {}), isByIds: false }
}

function subjectOfRows(entries: SelectionData['entries']): DecisionSubject {
  const [creator = null, ...others] = new Set(entries.map(({ createdBy }) => createdBy))
  const statuses = entries.map(({ status }) => status)
  return { createdBy: others.length === 0 ? creator : null, statuses, isByIds: true }
}

/** Many rows: the person has written how many. */
async function findWrongNumber(
  { writebacks }: ConsoleOptions,
  { project, target, digest, typed }: Asked,
): Promise<string | null> {
  if (digest === null || decisions[target.decision].taken !== 'confirmed') return null
  const { named } = await writebacks.selection(project, await filterOf(writebacks, project, target), 0)
  if (named.count <= typedOver || named.digest !== digest) return null
  return Number((typed ?? '').replace(/[\s,.]/g, '')) === named.count
    ? null
    : `This is about ${named.count} write-backs: write their number. Nothing was changed.`
}

/** What the audit log says. `isMade`: not if what was shown had changed. */
function auditOf({ project, viewer, target, digest }: Asked, isMade: boolean, count: number): NewAuditEvent {
  const { decision, batch, ids, would } = target
  const parts = [
    ...(would === null ? [] : [`rows: ${would}`]),
    ...(digest === null ? [] : [`digest ${digest.slice(0, 16)}`]),
    ...(isMade ? [] : ['refused: the selection had changed']),
  ]
  return {
    ...{
      project: project.projectId,
      person: viewer.name,
      role: viewer.role,
      action: decisions[decision].audited,
      count,
    },
    subject: [batch, ...(ids ?? []).slice(0, 3)].filter((part) => part !== null).join(' '),
    detail: parts.length === 0 ? null : parts.join(' · '),
  }
}

function answer(reply: FastifyReply, send: SendPage, asked: Asked, outcome: DecisionOutcome, frame: ProjectFrame) {
  const { project, viewer, target } = asked
  const back = backTo(project, target)
  if (outcome.kind === 'moved')
    return send(
      reply.code(409),
      movedPage({ decision: target.decision, mismatch: outcome.mismatch, back }, frame),
      viewer,
      project,
    )
  const { made } = outcome
  const created = made.revert?.batch ?? null
  const to = created === null ? back : path`/console/p/${project.name}/batches/${created}`
  if (isAsExpected(target.decision, made)) return reply.redirect(to, 303)
  return send(reply, resultPage({ decision: target.decision, made, to }, frame), viewer, project)
}

/** Then the page about it says everything; otherwise there is more to read: why rows stayed as they were. */
function isAsExpected(decision: DecisionName, { moved, stayed, revert }: MadeDecision): boolean {
  if (revert !== null) return revert.batch !== null && revert.notReverted.length === 0
  return moved > 0 && (stayed.length === 0 || decision === 'undo')
}

/** What was asked for is not possible as things are: a batch is stopped already, say. */
function returnRefusal(error: unknown): UserError {
  if (error instanceof UserError && error.exitCode === 2) return error
  throw error
}

function refuseAsItIs(reply: FastifyReply, send: SendPage, { project, viewer, target }: Asked, { message }: UserError) {
  return send(reply.code(409), problemPage('Nothing was changed', message, backTo(project, target)), viewer, project)
}

function backTo({ name }: ConsoleProject, { batch, ids }: DecisionTarget): string {
  return batch === null
    ? path`/console/p/${name}/writebacks/${ids?.[0] ?? ''}`
    : path`/console/p/${name}/batches/${batch}`
}

function refuse(reply: FastifyReply, send: SendPage, request: FastifyRequest, status: 400 | 403 | 409, why: string) {
  return send(
    reply.code(status),
    problemPage(status === 403 ? 'Not allowed' : 'This did not work', why, '/console'),
    request.viewer,
  )
}
