/**
 * A reply, a note or a flag that a person writes on the page of a conversation: a draft in their
 * batch of the day.
 */
import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import { isDeepStrictEqual } from 'node:util'
import type { FastifyInstance } from 'fastify'
import { asDrafts, importWritebacks } from '../../app/import.ts'
import type { Config } from '../../config/config.ts'
import type { MistakeKind } from '../../imports/imports.ts'
import type { NamedEntry, Outbox } from '../../outbox/outbox.ts'
import { createOutbox } from '../../outbox/sql/outbox.ts'
import { withQuery } from '../../values/address.ts'
import type { ProjectName } from '../../values/project.ts'
import { parseTime, rfc3339 } from '../../values/time.ts'
import { UserError } from '../../values/user-error.ts'
import { addressOf } from '../blocks.ts'
import { draftRole } from '../core/permissions.ts'
import { settingsOf, type Values } from '../decisions.ts'
import type { ProjectFrame } from '../frame.ts'
import { conversationPage, listWritebacksTo } from '../pages/conversations.ts'
import {
  beginDraft,
  type Draft,
  type DraftProblem,
  describeUnfilled,
  draftKinds,
  draftsTitle,
  whyNoDraft,
} from '../pages/draft-form.ts'
import type { ConsoleProject } from '../project.ts'
import { digitsOf } from '../screen.ts'
import { type ConversationData, readConversation } from '../sql/conversations.ts'
import { todayOf } from '../text.ts'
import { type Site, valuesOf } from './site.ts'

/**
 * `key`: of the form, and the ref of what it queues, so that a form that is sent twice queues it
 * once.
 */
type PostedDraft = Draft & {
  readonly key: string
  /** The last message that the person saw; null = there was none. */
  readonly expect: string | null
}

export function addDrafts(app: FastifyInstance, site: Site): void {
  const { reads, requireRole, send, sendProblem } = site
  type Route = { Params: { project: ProjectName; id: string } }
  app.post<Route>('/p/:project/conversations/:id', async (request, reply) => {
    const { viewer } = request
    if (!(await requireRole(request, reply, draftRole))) return reply
    const config = site.config()
    const project = await site.findProject(request.params.project)
    if (viewer === null || project === null) return reply.callNotFound()
    const db = (await reads.warehouse()).projectDb(project.projectId)
    const conversation = await readConversation(db, request.params.id, null)
    if (conversation === null || conversation.deletedAt !== null) return reply.callNotFound()
    const frame = { ...(await site.projectFrame(viewer, project)), viewer }
    const address = addressOf(frame, 'conversations', conversation.id)
    const whyNot = whyNoDraft(frame)
    const draft = readForm(valuesOf(request.body))
    if (config === null || whyNot !== null)
      return sendProblem(reply, 403, 'Not allowed', whyNot ?? '', address, project)
    if (draft === null)
      return sendProblem(
        reply,
        400,
        'This did not work',
        'The form is not whole.',
        address,
        project,
      )
    const queued = await listWritebacksTo(db, conversation)
    const problem =
      findProblem(draft, conversation, queued) ??
      (await queueDraft(createOutbox(db), config, project, draft, conversation, frame))
    if (problem === null)
      return reply.redirect(`${withQuery(address, { drafted: draft.key })}#write`, 303)
    const { texts } = beginDraft(conversation, project, frame)
    const writing = { draft, problem, joined: null, texts }
    const page = conversationPage(conversation, queued, writing, frame)
    return send(reply.code(422), page, project)
  })
}

/** Null: it is not a form of ours. */
function readForm(values: Values): PostedDraft | null {
  // Browsers send line ends as CRLF.
  const text = (name: string) => (values(name).at(0) ?? '').replaceAll('\r\n', '\n')
  const kind = draftKinds.find((known) => known === text('kind'))
  const key = text('key')
  const expect = text('expect')
  if (
    kind === undefined ||
    !/^[\da-f-]{36}$/.test(key) ||
    (expect !== '' && digitsOf(expect) === null)
  )
    return null
  return {
    key,
    kind,
    expect: expect === '' ? null : expect,
    content: text('content'),
    sender: text('sender').trim(),
    andHandled: text('andHandled') === 'yes',
    allowDuplicates: text('allowDuplicates') === 'yes',
  }
}

/** As an import has them. */
function rowsOf(
  draft: PostedDraft,
  { id, visitorId, createdAt }: ConversationData,
): readonly object[] {
  const { key: ref, kind, content, sender, andHandled, expect } = draft
  const begun = parseTime(createdAt)
  // Who saw no message expects none, not even one of the second in which the conversation began.
  const to = {
    conversation_id: id,
    expect: expect ?? (begun === undefined ? null : rfc3339(begun - 1)),
  }
  const flag = { ...to, operation: 'handled', handled: kind !== 'reopen', ref: `${ref} handled` }
  if (kind === 'note') return [{ operation: 'note', visitor_id: visitorId, content, expect, ref }]
  if (kind !== 'reply') return [flag]
  const reply = { ...to, operation: 'message', content, sender_name: sender, ref }
  return andHandled ? [reply, flag] : [reply]
}

/**
 * What the person could not have seen: the visitor has written since, or the same note or flag
 * waits already.
 */
function findProblem(
  draft: PostedDraft,
  { messages }: ConversationData,
  queued: readonly NamedEntry[],
) {
  // This form was sent before, so what it did is what it does.
  if (queued.some(({ ref }) => ref?.startsWith(draft.key))) return null
  const seen = BigInt(draft.expect ?? 0)
  if (
    messages.some(
      ({ role, id, isDeleted }) => role === 'visitor' && !isDeleted && BigInt(id) > seen,
    )
  )
    return problemOf(
      'The visitor has written since you opened this page. Read it, and add your draft again.',
    )
  const unfilled = describeUnfilled(draft)
  if (unfilled !== null) return problemOf(unfilled)
  if (draft.kind === 'reply') return null
  const payload =
    draft.kind === 'note' ? { content: draft.content } : { handled: draft.kind === 'handled' }
  const isWaiting = ({ status }: NamedEntry) =>
    ['draft', 'queued', 'sending', 'uncertain'].includes(status)
  const same = queued.some(
    (entry) => isWaiting(entry) && isDeepStrictEqual({ ...entry.payload }, payload),
  )
  return same ? problemOf('The same is waiting already: see the write-backs above.') : null
}

function problemOf(text: string, isRepeated = false): DraftProblem {
  return { text, isRepeated }
}

/** A batch that was stopped is not joined: “Go on” is about what was in it then. */
async function findOpenBatch(outbox: Outbox, name: string): Promise<string> {
  for (let number = 1; ; number += 1) {
    const id = number === 1 ? name : `${name}-${number}`
    if ((await outbox.findBatch(id))?.stoppedAt == null) return id
  }
}

/** By the checks of an import, whose rows they are. Null: they are queued, or were. */
async function queueDraft(
  outbox: Outbox,
  config: Config,
  project: ConsoleProject,
  draft: PostedDraft,
  conversation: ConversationData,
  frame: ProjectFrame & { readonly viewer: NonNullable<ProjectFrame['viewer']> },
): Promise<DraftProblem | null> {
  const { now, viewer } = frame
  const rows = rowsOf(draft, conversation)
  const source = Readable.from([Buffer.from(rows.map((row) => JSON.stringify(row)).join('\n'))])
  const batchId = await findOpenBatch(
    outbox,
    `drafts-${todayOf(frame)}-${hash('sha256', viewer.name).slice(0, 8)}`,
  )
  const report = await importWritebacks(
    config,
    settingsOf(config, project),
    { source, name: null, parse: { format: 'jsonl' } },
    {
      ...asDrafts,
      now,
      allowDuplicates: draft.allowDuplicates,
      createdBy: viewer.name,
      mistakesTarget: null,
      batchId,
      title: draftsTitle(frame),
      note: null,
      audit: (count, _, batch) => ({
        project: project.projectId,
        person: viewer.name,
        role: viewer.role,
        action: 'drafted',
        count,
        subject: batch,
        detail: `${draft.kind} · conversation ${conversation.id}`,
      }),
    },
  ).catch((error: unknown) => {
    if (error instanceof UserError) return error
    throw error
  })
  if (report instanceof UserError) return problemOf(`${report.message}. ${report.next}`)
  if (report.outcome === 'mistaken')
    return problemOf(
      report.kinds.map(describeMistake).join(' '),
      report.kinds.some(({ override }) => override === 'allow-duplicates'),
    )
  const isOther = 'differing' in report && report.differing > 0
  return isOther
    ? problemOf('This form was sent before, with other words. To add these, too, send it again.')
    : null
}

const fieldNames: Readonly<Record<string, string>> = {
  content: 'The text',
  sender_name: 'The name',
}

/** `The text is empty.` */
function describeMistake({ field, why, override, found: [found] }: MistakeKind): string {
  if (override === null) return `${fieldNames[field ?? ''] ?? field ?? 'It'} ${why}.`
  return `${why.charAt(0).toUpperCase()}${why.slice(1)}${found === undefined ? '' : ` (${found.value})`}.`
}
