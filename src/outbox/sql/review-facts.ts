/** What a review must know about each row besides itself, from the mirror and the queue. */
import { sql } from 'kysely'
import type { FieldName, TargetKind } from '../../../schema/operation-specs.ts'
import { teamSenderTypes } from '../../mirror/core/message-fields.ts'
import { readLastReads } from '../../mirror/sql/sync-runs.ts'
import { readColumnStates } from '../../mirror/sql/sync-state.ts'
import { excerpt } from '../../values/invisible.ts'
import { isHash } from '../../values/private-columns.ts'
import { parseTime, rfc3339 } from '../../values/time.ts'
import { inAnyCase, inList, rowsParameter } from '../../warehouse/dialect.ts'
import { decodeText, encodeText } from '../../warehouse/escape.ts'
import type { ProjectDb } from '../../warehouse/project-db.ts'
import {
  fieldNames,
  type MirroredMessage,
  type MirroredTarget,
  notStored,
  shownName,
  type TargetState,
} from '../core/field-kinds.ts'
import { isCorrection, operationTypes } from '../core/operations.ts'
import { type NamedEntry, type OutboxEntry, targetIdOf } from '../core/outbox-entry.ts'
import { noOwnEdits, type ReviewFacts, wholeSecondsSlack } from '../core/review/guards.ts'
import type { ReviewRow } from '../core/review/terms.ts'
import { findDuplicateRefs } from './enqueue.ts'
import { findConversations, readOwnEdits, requeuedAtSql } from './lane-history.ts'
import { decodeShown, shownSql, type WritebackTarget } from './row.ts'

/** One for each row, in their order, from the mirror as it is now. */
export async function readFacts(
  context: ProjectDb,
  rows: readonly ReviewRow[],
): Promise<readonly Omit<ReviewFacts, 'isNewSender'>[]> {
  const expecting = rows.filter((row) => !isOnConversation(row) && expectOf(row) !== null)
  const found = await findConversations(
    context,
    expecting.map((row) => ({ visitor: targetOf(row), messageId: expectedId(row) })),
  )
  const chosen = new Map(expecting.map((row, index) => [row, found[index] ?? '']))
  const conversationOf = (row: ReviewRow): WritebackTarget => {
    const target = isOnConversation(row) ? row.target : (chosen.get(row) ?? '')
    return { operation: 'message', target }
  }
  const mirrored = await readMirrored(context, [...rows, ...expecting.map(conversationOf)])
  const conversationIds = rows.map((row) => targetOf(conversationOf(row)))
  const expectedIds = new Set(rows.flatMap((row) => expectedId(row) ?? []))
  const expected = await readExpectedMessages(context, conversationIds, [...expectedIds])
  const corrections = rows.flatMap(({ queued, operation }) =>
    queued !== null && isCorrection(operationTypes[operation]) ? [queued.id] : [],
  )
  const ownEdits = await readOwnEdits(context, corrections)
  const newer = await readNewerMessages(context, rows)
  const newRefs = rows.flatMap((row) => newRef(row) ?? [])
  const refs = await findDuplicateRefs(context, newRefs)
  const mirrorAsOf = await readMirrorAges(context)
  return rows.map((row, index) => ({
    target: mirrored(row),
    isRefQueued: refs.has(newRef(row) ?? ''),
    mirrorAsOf: mirrorAsOf[operationTypes[row.operation].target],
    conversation: mirrored(conversationOf(row)),
    expectedMessage: expected.get(`${conversationIds[index]}/${expectedId(row)}`) ?? null,
    ...(newer.get(row.queued?.id ?? '') ?? { newerMessages: [], requeuedAt: null }),
    ...(ownEdits.get(row.queued?.id ?? '') ?? noOwnEdits),
  }))
}

/** When the streams with a target and its words were last read to their end; null = never. */
async function readMirrorAges(
  context: ProjectDb,
): Promise<Readonly<Record<TargetKind, string | null>>> {
  const lastReads = await readLastReads(context)
  const conversations = lastReads.get('conversations')
  const messages = lastReads.get('messages')
  const isRead = conversations !== undefined && messages !== undefined
  const conversation = isRead ? (conversations < messages ? conversations : messages) : null
  return { conversation, visitor: lastReads.get('visitors') ?? null }
}

/**
 * Names of earlier replies. The facts for analysts have each once a conversation and day; without
 * them, the messages are searched, which are few then.
 */
export async function findKnownSenders(
  { db, kind, project }: ProjectDb,
  names: readonly string[],
): Promise<ReadonlySet<string>> {
  if (names.length === 0) return new Set()
  const sought = inList(
    kind,
    names.map((name) => encodeText(kind, name)),
  )
  const { rows } = await sql<{ name: string }>`
    select name from fct_contribution where project_id = ${project} and name ${sought}
    union select sender_display_name from message_rows where project_id = ${project}
    and sender_display_name ${sought}
      and not exists (select 1 from fct_contribution where project_id = ${project})`.execute(db)
  return new Set(rows.map(({ name }) => decodeText(name)))
}

/** One for each target, in their order; null if the mirror does not have it. */
export async function readTargets(context: ProjectDb, targets: readonly WritebackTarget[]) {
  return targets.map(await readMirrored(context, targets))
}

async function readMirrored(
  context: ProjectDb,
  targets: readonly WritebackTarget[],
): Promise<(target: WritebackTarget) => MirroredTarget | null> {
  const onConversations = targets.filter(isOnConversation)
  const onVisitors = targets.filter((target) => !isOnConversation(target))
  const conversations = await readConversations(context, onConversations.map(targetOf))
  const visitors = await readVisitors(context, onVisitors.map(targetOf))
  return (target) =>
    (isOnConversation(target) ? conversations : visitors).get(targetOf(target)) ?? null
}

/** Adds names and words from the mirror. */
export async function nameEntries(
  context: ProjectDb,
  entries: readonly OutboxEntry[],
): Promise<readonly NamedEntry[]> {
  const ids = entries.map((entry) => ({ operation: entry.operation, target: targetIdOf(entry) }))
  const targets = await readTargets(context, ids)
  return entries.map((entry, index) => {
    const { content } = entry.payload
    const target = targets[index]
    const lastText = target?.lastVisitorMessage?.text
    return {
      ...entry,
      visitorName: target?.visitorName ?? null,
      lastWords: lastText == null ? null : excerpt(lastText),
      firstWords: typeof content === 'string' ? excerpt(content) : null,
    }
  })
}

function isOnConversation({ operation }: WritebackTarget): boolean {
  return operationTypes[operation].target === 'conversation'
}

function targetOf({ target }: WritebackTarget): string {
  return target.toLowerCase()
}

/** Null for a row that is queued, as its ref is its own. */
function newRef({ queued, request }: ReviewRow): string | null {
  return queued === null ? (request.request?.ref ?? null) : null
}

function expectOf({ request }: ReviewRow): string | null {
  return request.request?.expect ?? null
}

/** The id of the expected message; null if a time or nothing is expected. */
function expectedId(row: ReviewRow): string | null {
  const expect = expectOf(row)
  return parseTime(expect) === undefined ? expect : null
}

/** By the id of the queued reply. */
async function readNewerMessages(
  { db, kind, project }: ProjectDb,
  rows: readonly ReviewRow[],
): Promise<ReadonlyMap<string, Pick<ReviewFacts, 'newerMessages' | 'requeuedAt'>>> {
  const replies = rows.flatMap(({ operation, queued }) => {
    if (operation !== 'message' || queued === null) return []
    const queuedAt = (parseTime(queued.createdAt) ?? 0) - wholeSecondsSlack
    // A second less, as texts with and without fractions of a second are compared.
    const since =
      Math.min(queuedAt, parseTime(queued.targetSnapshot?.lastMessageAt) ?? queuedAt) - 1
    return [{ id: queued.id, since: rfc3339(since) }]
  })
  if (replies.length === 0) return new Map()
  const since = kind === 'sqlite' ? sql`reply.since` : sql`cast(reply.since as timestamptz)`
  const { rows: found } = await sql<{
    replyId: string
    id: unknown
    content: string | null
    sender: string | null
    at: string | null
    requeuedAt: string | null
  }>`
    select own.id as "replyId", messages.id, messages.content,
    messages.sender_display_name as sender, messages.created_at as at,
      ${requeuedAtSql('own')} as "requeuedAt"
    from ${rowsParameter(kind, { id: 'text', since: 'text' }, replies)} reply
    join writebacks own on own.project_id = ${project} and own.id = reply.id
    join messages on messages.project_id = own.project_id
      and messages.conversation_id in (own.conversation_id, lower(own.conversation_id),
      upper(own.conversation_id))
    where messages.deleted_at is null and (messages.created_at is null
    or messages.created_at >= ${since})
      and not exists (select 1 from writebacks other where other.project_id = own.project_id
      and other.lane = own.lane
        and other.message_id = cast(messages.id as text))`.execute(db)
  return new Map(
    [...Map.groupBy(found, ({ replyId }) => replyId)].map(([id, shown]) => [
      id,
      {
        newerMessages: shown.map(({ id, content, sender, at }) => ({
          id: String(id),
          at: parseTime(at) ?? null,
          content: decodeText(content),
          senderName: decodeText(sender),
        })),
        requeuedAt: shown[0]?.requeuedAt ?? null,
      },
    ]),
  )
}

/** Enough of a text to recognise it by. */
const maxTextLength = 2400

/** A person or the AI wrote it; any other kind is a system event. */
const isUtterance = sql`last.deleted_at is null and (last.kind is null or last.kind = 'utterance')`

/** An unknown sender counts as a visitor, unless the message is known as one of our replies. */
const notByTeamSql = sql`(last.sender_type is null
    or lower(last.sender_type) not in (${sql.join(teamSenderTypes.map((type) => sql.lit(type)))}))
  and not exists (select 1 from writebacks own where own.project_id = last.project_id
    and own.lane = 'conversation/' || lower(last.conversation_id)
    and own.message_id = cast(last.id as text))`

type MirroredRow = {
  id: string
  syncedAt: string
  deletedAt: string | null
  visitorName: string | null
}
const inLowerCase = (ids: readonly string[]) => ids.map((id) => id.toLowerCase())

/** By id in lower case. */
async function readConversations(
  context: ProjectDb,
  ids: readonly string[],
): Promise<ReadonlyMap<string, MirroredTarget>> {
  if (ids.length === 0) return new Map()
  const { db, kind, project } = context
  const { rows } = await sql<
    MirroredRow & {
      lastMessageAt: string | null
      lastMessageSenderType: string | null
      messageId: unknown
      messageAt: string | null
      messageText: string | null
    }
  >`
    select conversations.id, conversations.synced_at as "syncedAt",
    conversations.deleted_at as "deletedAt",
      coalesce(nullif(trim(visitors.name), ''), visitors.email) as "visitorName",
      ${shownSql(context, 'conversation')},
      last_message_at as "lastMessageAt",
      last_message_sender_type as "lastMessageSenderType", messages.id as "messageId",
      messages.created_at as "messageAt", substr(messages.content, 1,
      ${sql.lit(maxTextLength)}) as "messageText"
    from conversations
    left join visitors on visitors.project_id = conversations.project_id
    and visitors.id = conversations.visitor_id
    left join messages on messages.project_id = conversations.project_id
      and messages.conversation_id = conversations.id and messages.id = (select last.id
      from messages last
        where last.project_id = conversations.project_id and last.conversation_id = conversations.id
          and ${isUtterance} and ${notByTeamSql} order by last.created_at desc, last.id desc
          limit 1)
    where conversations.project_id = ${project}
    and lower(conversations.id) ${inList(kind, inLowerCase(ids))}`.execute(db)
  return byId(
    rows,
    ({ lastMessageAt, lastMessageSenderType, messageId, messageAt, messageText }) => ({
      lastMessageAt,
      lastMessageSenderType,
      lastVisitorMessage:
        messageId === null
          ? null
          : { id: String(messageId), at: messageAt, text: wordsOf(messageText) },
    }),
  )
}

/** A hash has no words to show. */
const wordsOf = (text: string | null) => (isHash(text) ? notStored : decodeText(text))

function byId<R extends MirroredRow>(
  rows: readonly R[],
  more: (row: R) => TargetState & Pick<MirroredTarget, 'lastVisitorMessage'>,
  notStoredFields: readonly FieldName[] = [],
): ReadonlyMap<string, MirroredTarget> {
  const toTarget = (row: R): MirroredTarget => ({
    ...decodeShown(row),
    syncedAt: row.syncedAt,
    isDeleted: row.deletedAt !== null,
    visitorName: isHash(row.visitorName) ? null : decodeText(row.visitorName),
    notStored: notStoredFields,
    ...more(row),
  })
  return new Map(rows.map((row) => [row.id.toLowerCase(), toTarget(row)]))
}

/** By id in lower case. */
async function readVisitors(
  context: ProjectDb,
  ids: readonly string[],
): Promise<ReadonlyMap<string, MirroredTarget>> {
  if (ids.length === 0) return new Map()
  const { db, kind, project } = context
  const { rows } = await sql<MirroredRow>`
    select id, synced_at as "syncedAt", deleted_at as "deletedAt",
    coalesce(nullif(trim(name), ''), email) as "visitorName",
    ${shownSql(context, 'visitor')}
    from visitors where project_id = ${project}
    and lower(id) ${inList(kind, inLowerCase(ids))}`.execute(db)
  const state = (await readColumnStates(context)).get('visitors')
  const rules = new Map([...(state?.applied.columns ?? []), ...(state?.cleaning?.to.columns ?? [])])
  const blocked = fieldNames.filter((field) => rules.get(shownName(field)) === 'block')
  return byId(rows, () => ({ lastVisitorMessage: null }), blocked)
}

/** System events too; by conversation in lower case and id: `…/12`. */
async function readExpectedMessages(
  { db, kind, project, typed }: ProjectDb,
  conversations: readonly string[],
  messageIds: readonly string[],
): Promise<ReadonlyMap<string, MirroredMessage>> {
  if (conversations.length === 0 || messageIds.length === 0) return new Map()
  const { rows } = await sql<{ conversation: string; id: unknown; at: string | null }>`
    select conversation_id as conversation, id, created_at as at from messages
    where project_id = ${project} and conversation_id ${inList(kind, inAnyCase(conversations))}
      and id in (${sql.join(messageIds.map((id) => typed('integer', BigInt(id))))})
      and deleted_at is null`.execute(db)
  return new Map(
    rows.map(({ conversation, id, at }) => [
      `${conversation.toLowerCase()}/${id}`,
      { id: String(id), at, text: null },
    ]),
  )
}
