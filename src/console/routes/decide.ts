/**
 * Decisions: a form that is posted, checked against role and state, made, written to the audit log,
 * and answered by a page.
 */
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { NewAuditEvent } from '../../../schema/row.ts'
import { decisions, isAboutProject, isDecision } from '../../outbox/core/decisions.ts'
import type { DecisionName } from '../../outbox/outbox.ts'
import { UserError } from '../../values/user-error.ts'
import { showNow } from '../batch-state.ts'
import { addressOf } from '../blocks.ts'
import { missingRole } from '../core/permissions.ts'
import {
  confirmAddress,
  type DecisionTarget,
  decide,
  filterOf,
  type MadeDecision,
  readSelection,
  subjectOf,
  targetOf,
} from '../decisions.ts'
import { movedPage, resultPage, unchangedPage } from '../pages/decided.ts'
import { backTo, typedOver } from '../pages/decision.ts'
import type { Values } from '../screen.ts'
import { type OpenedToWrite, prefix, type Site, valuesOf } from './site.ts'

type PostedDecision = DecisionTarget & {
  readonly decision: DecisionName
  readonly digest: string | null
  readonly typed: string
}

export function addDecisions(app: FastifyInstance, site: Site): void {
  const { reads, store, log, now, send, sendProblem } = site
  const refuse = (reply: FastifyReply, [status, why]: Refusal, to = prefix) =>
    sendProblem(reply, status, status === 403 ? 'Not allowed' : 'This did not work', why, to)
  app.post('/p/:project/decide', async (request, reply) => {
    const opened = await site.openToWrite(request, reply, 'viewer')
    if (opened === null) return reply
    const { config, viewer, project, frame } = opened
    const asked = readForm(valuesOf(request.body))
    if (asked === null) return refuse(reply, [400, 'The form does not say what is to be decided.'])
    const refusal = await findRefusal(opened, asked)
    const back = backTo(frame, asked)
    if (refusal !== null) return refuse(reply, refusal, refusal[2] ?? back)
    const audit = (count: number) => auditOf(opened, asked, count)
    const outcome = await decide(config, reads.reviews, project, {
      ...asked,
      by: viewer.name,
      audit,
    }).catch(refusalOf)
    const answer = async (to = back) => ({ to, asItIs: await showNow(opened, asked.batch) })
    // What was asked for is not possible as things are: a batch is stopped already, say.
    if (outcome instanceof UserError)
      return send(reply.code(409), unchangedPage(outcome.message, await answer()), project)
    const isMade = !('outcome' in outcome)
    const { action, subject } = audit(0)
    const event = {
      event: 'console.decided',
      person: viewer.name,
      decision: action,
      subject,
      isMade,
    }
    log.info({ ...event, project: project.name })
    if (!isMade) {
      await store.append(auditOf(opened, asked, null), now())
      return send(reply.code(409), movedPage(outcome, await answer(), frame), project)
    }
    const created = outcome.revert?.batch ?? null
    const to = created === null ? back : addressOf(frame, 'batches', created)
    if (isAsExpected(asked.decision, outcome)) return reply.redirect(to, 303)
    return send(reply, resultPage(asked.decision, outcome, await answer(to), frame), project)
  })
}

function refusalOf(error: unknown): UserError {
  if (error instanceof UserError && error.exitCode === 2) return error
  throw error
}

function readForm(values: Values): PostedDecision | null {
  const [decision = null] = values('decision')
  const target = isDecision(decision) ? targetOf(values, decision) : null
  if (!isDecision(decision) || target === null) return null
  const isWholeBatch = target.batch !== null && target.ids === null && target.would === null
  if (decisions[decision].about === 'batch' && !isWholeBatch) return null
  const [digest = null] = values('digest')
  // The beginning of a digest is for people who write it down; a page gives the whole one.
  if (digest !== null && !/^[0-9a-f]{64}$/.test(digest)) return null
  const [typed = ''] = values('typed')
  return { ...target, decision, digest, typed }
}

/** `to`: where to go on, if not on the page about what is decided. */
type Refusal = readonly [status: 400 | 403 | 409, why: string, to?: string]

/** By what it is about as it is now, not as the form says. */
async function findRefusal(opened: OpenedToWrite, asked: PostedDecision): Promise<Refusal | null> {
  const { reads, project, viewer, frame } = opened
  const { decision, batch, ids, digest, typed } = asked
  const needed = isAboutProject(decision)
    ? missingRole(viewer, decision, { createdBy: null, statuses: [], isByIds: false })
    : null
  if (needed !== null) return [403, `This needs the role ${needed}.`]
  if (isAboutProject(decision)) return null
  const filter = { ...(batch === null ? {} : { batch }), ...(ids === null ? {} : { ids }) }
  const selection = await readSelection(opened, filter, ids?.length)
  const role = missingRole(viewer, decision, subjectOf(selection, ids))
  if (role !== null) return [403, `This needs the role ${role}.`]
  // The command line takes beginnings of ids, and they may be of rows that are not among these.
  if (ids !== null && selection.entries.length !== ids.length)
    return [409, 'Not all of these write-backs are there.']
  if (digest === null || decisions[decision].taken !== 'confirmed') return null
  const changed = await filterOf(reads.reviews, project, decision, asked)
  const { named } = await readSelection(opened, changed)
  // Many rows: the person has written how many.
  const isNumber = Number(typed.replace(/[\s,.]/g, '')) === named.count
  if (named.count <= typedOver || named.digest !== digest || isNumber) return null
  const why = `This is about ${named.count} write-backs: write their number. Nothing was changed.`
  return [400, why, confirmAddress(frame, decision, asked)]
}

/** What the audit log says. `count` null: nothing was decided, as what was shown had changed. */
function auditOf(
  { project, viewer }: OpenedToWrite,
  { decision, batch, ids, would, digest }: PostedDecision,
  count: number | null,
): NewAuditEvent {
  const parts = [
    ...(would === null ? [] : [`rows: ${would}`]),
    ...(digest === null ? [] : [`digest ${digest.slice(0, 16)}`]),
    ...(count === null ? ['refused: the selection had changed'] : []),
  ]
  return {
    project: project.projectId,
    person: viewer.name,
    role: viewer.role,
    count: isAboutProject(decision) ? null : (count ?? 0),
    action: decisions[decision].audited,
    subject: [batch, ...(ids ?? []).slice(0, 3)].filter((part) => part !== null).join(' '),
    detail: parts.length === 0 ? null : parts.join(' · '),
  }
}

/**
 * Then the page about it says everything; otherwise there is more to read: why rows stayed as they
 * were.
 */
function isAsExpected(decision: DecisionName, { moved, stayed, revert }: MadeDecision): boolean {
  if (revert !== null) return revert.batch !== null && revert.notReverted.length === 0
  return moved > 0 && (stayed.length === 0 || decision === 'undo')
}
