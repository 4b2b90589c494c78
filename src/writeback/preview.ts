/**
 * What an import would change, told against the live records: each target is read once, and the guards are asked as they
 * would be just before sending. Nothing is queued and nothing is sent. What the mirror shows now counts as seen.
 */
import pMap from 'p-map'
import type { Answer, Get } from '../core/call.ts'
import { parseJson } from '../core/json.ts'
import type { Seen, Writeback } from '../core/outbox/outbox.ts'
import type { Preview } from '../core/outbox/report.ts'
import { aboutWhat, laneOf, type Wish } from '../core/outbox/wish.ts'
import { type EpochMs, moment, rfc3339 } from '../core/time.ts'
import { fieldsOf } from '../streams/row.ts'
import { visitors } from '../streams/visitors.ts'
import type { WritebackDeps } from './deps.ts'
import { procedures } from './operations/catalog.ts'
import { conversationPath } from './operations/conversation.ts'
import type { Guarded } from './operations/procedure.ts'
import { type Told, tellFailure, tellGuarded } from './preview-told.ts'

/** A line of an import that has no mistake. */
export type Wished = { readonly line: number; readonly wish: Wish }

export type PreviewDeps = WritebackDeps & {
  /** The mirror's rows as they came, by their ids. */
  readonly rawOf: (stream: 'conversations' | 'visitors', ids: readonly string[]) => Promise<ReadonlyMap<string, string>>
  /** Those of the refs that were queued before. */
  readonly knownRefs: (refs: readonly string[]) => Promise<ReadonlySet<string>>
  /** Expiry of those that name none. */
  readonly expiresAt: string | null
  readonly onProgress: (looked: number) => void
}

/** How many lines are looked at side by side. */
const atOnce = 6

/** Throws CallFailed where the service does not answer, or denies the key. */
export async function preview(deps: PreviewDeps, wished: readonly Wished[]): Promise<readonly Preview[]> {
  const looking: PreviewDeps = { ...deps, get: remembering(deps.get), outbox: withoutTrace(deps) }
  const seen = await whatIsSeen(deps, wished)
  const known = await deps.knownRefs(wished.flatMap(({ wish }) => wish.ref ?? []))
  let looked = 0
  const previews = await pMap(
    wished,
    async (it) => {
      const told = await previewOf(looking, it, seen.get(it.wish.target) ?? null, known)
      looked += 1
      deps.onProgress(looked)
      return told
    },
    { concurrency: atOnce },
  )
  return inOrder(previews)
}

/** The same record is read once, however many lines are about it. */
function remembering(get: Get): Get {
  const answers = new Map<string, Promise<Answer>>()
  return (path, query) => {
    const key = `${path} ${JSON.stringify(query)}`
    const answer = answers.get(key) ?? get(path, query, 'fresh')
    answers.set(key, answer)
    return answer
  }
}

/** None of these has a place in the queue, and nothing is to be written down. */
function withoutTrace({ outbox }: PreviewDeps): WritebackDeps['outbox'] {
  return { ...outbox, ownEdit: async () => undefined, replyBefore: async () => null, learn: async () => {} }
}

async function whatIsSeen(deps: PreviewDeps, wished: readonly Wished[]): Promise<ReadonlyMap<string, Seen>> {
  const idsOf = (about: 'conversation' | 'visitor') => [
    ...new Set(wished.flatMap(({ wish }) => (aboutWhat[wish.operation] === about ? wish.target : []))),
  ]
  const conversations = await deps.rawOf('conversations', idsOf('conversation'))
  const known = [...conversations, ...(await deps.rawOf('visitors', idsOf('visitor')))]
  return new Map(known.map(([id, raw]) => [id, seenIn(raw)]))
}

function seenIn(raw: string): Seen {
  const fields = fieldsOf(parseJson(raw))
  const text = (value: unknown) => (typeof value === 'string' ? value : null)
  return { last_message_at: text(fields?.lastMessageAt), name: text(fields?.name), email: text(fields?.email) }
}

async function previewOf(
  deps: PreviewDeps,
  { line, wish }: Wished,
  seen: Seen | null,
  known: ReadonlySet<string>,
): Promise<Preview> {
  const { operation, target } = wish
  return { line, operation, target, ...(await told(deps, wish, seen, known)), after: null }
}

async function told(deps: PreviewDeps, wish: Wish, seen: Seen | null, known: ReadonlySet<string>): Promise<Told> {
  const { target, ref } = wish
  if (ref !== null && known.has(ref)) return { would: 'known', detail: `its ref ${ref} was queued before` }
  const expiry = moment(wish.expiresAt ?? deps.expiresAt)
  if (expiry !== undefined && expiry * 1000 <= deps.now())
    return { would: 'fail', detail: `expires: not to be sent after ${rfc3339(expiry)}` }
  try {
    const isConversation = aboutWhat[wish.operation] === 'conversation'
    const path = isConversation ? conversationPath(target) : visitors.one(deps.project, target)
    const live = await deps.get(path, {}, 'fresh')
    return tellGuarded(wish, live, await guarded(deps, wish, seen))
  } catch (error) {
    return tellFailure(wish, error)
  }
}

/** Where a guard would only note what is there, it is not asked: that would cost a request and tell nothing. */
async function guarded(deps: PreviewDeps, wish: Wish, seen: Seen | null): Promise<Guarded> {
  const { operation, expect } = wish
  if (expect === null && (operation === 'message' || operation === 'note')) return { go: true, body: {}, before: {} }
  return procedures[operation].guard(deps, asQueued(wish, seen, deps.now()), wish)
}

function asQueued(wish: Wish, seen: Seen | null, now: EpochMs): Writeback {
  const { operation, target, expiresAt } = wish
  const createdAt = rfc3339(Math.floor(now / 1000))
  const fresh = { status: 'queued', revokedAs: null, attempts: 0, batchId: null, evidence: {}, epoch: 0 } as const
  return { id: '', lane: '', operation, target, line: null, createdAt, expiresAt, seen, ...fresh }
}

/** Lines are compared with the record as it is now, and not with what the lines above them do to it: so they are named. */
function inOrder(previews: readonly Preview[]): readonly Preview[] {
  const last = new Map<string, number>()
  return previews.map((it) => {
    const lane = laneOf(aboutWhat[it.operation], it.target)
    const after = last.get(lane) ?? null
    last.set(lane, it.line)
    return { ...it, after }
  })
}
