/** The changes of a project's data: by the API, by visitors and agents, and at random. */
import type { Conversation, Message } from './model.ts'
import { createRandom, integerBetween, pick, purposes } from './random.ts'
import { createRowIds } from './seed-context.ts'
import type { ProjectState } from './state.ts'
import { parseNames, type Switches } from './switches.ts'

/** Rows are named by their ids; an unknown id throws RangeError. */
export function createMutations(state: ProjectState, switches: () => Switches) {
  const { conversations, visitors, calls, messages, activity, notes, seedData, clock } = state
  const noteIds = createRowIds(seedData.random, purposes.entry)
  const anyVisitorId = () => visitors.pickNear(0)?.id ?? seedData.visitors.ids.idAt(0)
  /** A message also changes its conversation: its times, and who waits for an answer. */
  const addMessage = (
    conversation: Conversation,
    message: Omit<Message, 'id' | 'createdAt' | 'kind'>,
    patch: Partial<Conversation>,
  ) => {
    const createdAt = Math.max(clock(), conversation.lastMessageAt)
    const id = seedData.conversations.firstFreeMessageId + messages.countAdded()
    const added = { ...message, kind: 'utterance', id, createdAt }
    messages.add(conversation, added)
    const newTimes = {
      lastMessageAt: createdAt,
      lastMessageSenderType: message.senderType,
      updatedAt: createdAt,
    }
    conversations.change(conversation.id, { ...newTimes, ...patch })
    return added
  }
  const visitorWrites = (id: string, content = 'Any news?') => {
    const conversation = conversations.get(id)
    const reopened = switches()['reopen.byVisitor'] ? { handledAt: null } : {}
    const message = { senderType: 'visitor', senderDisplayName: 'Visitor', content }
    return addMessage(conversation, message, {
      waitingSince: conversation.waitingSince ?? clock(),
      ...reopened,
    })
  }
  const agentWrites = (
    id: string,
    message: Pick<Message, 'senderDisplayName' | 'content' | 'reply'>,
  ) =>
    addMessage(
      conversations.get(id),
      { senderType: 'agent', ...message },
      { handledAt: null, waitingSince: null },
    )
  return {
    /** A conversation starts with its visitor's first message. */
    addConversation(visitorId = anyVisitorId(), content = 'Hello, is anybody there?') {
      const now = clock()
      const { id } = conversations.add({
        visitorId,
        assignedAgentId: null,
        origin: 'visitor_initiated',
        createdAt: now,
        updatedAt: now,
        lastMessageAt: now,
        waitingSince: now,
        handledAt: null,
        lastMessageSenderType: 'visitor',
      })
      visitorWrites(id, content)
      return conversations.get(id)
    },
    visitorWrites,
    agentReplies: (id: string, content = 'We are on it.', senderDisplayName = 'Support') =>
      agentWrites(id, { senderDisplayName, content }),
    /** A reply that is sent by the API. */
    replyArrives(id: string, content: string, senderDisplayName: string) {
      const { lastMessageAt, lastMessageSenderType, handledAt } = conversations.get(id)
      const added = agentWrites(id, { senderDisplayName, content, reply: true })
      const shows = switches()['reply.shows']
      const hidden = {
        lastMessageAt,
        lastMessageSenderType,
        ...(shows === 'nothing' && { handledAt }),
      }
      if (shows !== 'all') conversations.change(id, hidden)
      return added
    },
    setHandled(id: string, handled: boolean) {
      const patch = handled ? { handledAt: clock(), waitingSince: null } : { handledAt: null }
      return conversations.change(id, { ...patch, updatedAt: clock() })
    },
    deleteConversation: (id: string) => conversations.remove(id),
    /** `k`: which message of the conversation, oldest first. */
    editMessage(id: string, k: number, content: string) {
      const conversation = conversations.get(id)
      if (messages.of(conversation)[k] === undefined)
        throw new RangeError(`the conversation has no message ${k}`)
      messages.edit(conversation, k, { content })
    },
    /** `k`: of all that it ever had. The times of the conversation follow its last message. */
    deleteMessage(id: string, k: number) {
      const conversation = conversations.get(id)
      if (k >= messages.countEver(conversation))
        throw new RangeError(`the conversation has no message ${k}`)
      messages.remove(conversation, k)
      const lastMessageAt =
        messages.of(conversation).at(-1)?.createdAt ?? conversation.lastMessageAt
      if (lastMessageAt !== conversation.lastMessageAt) conversations.change(id, { lastMessageAt })
    },
    restoreMessage: (id: string, k: number) => messages.restore(conversations.get(id), k),
    addVisitor({
      name = 'New Visitor',
      email = null,
    }: {
      name?: string | null
      email?: string | null
    } = {}) {
      const now = clock()
      return visitors.add({ name, email, createdAt: now, lastSeenAt: now, updatedAt: now })
    },
    /** Null clears a value. */
    renameVisitor: (id: string, name: string | null, email: string | null) =>
      visitors.change(id, { name, email, updatedAt: clock() }),
    addNote(id: string, content: string) {
      const { id: visitorId } = visitors.get(id)
      const note = { id: noteIds.idAt(notes.length), visitorId, content, createdAt: clock() }
      notes.push(note)
      return note
    },
    addActivity(id: string, kind = 'page_view') {
      const visitor = visitors.get(id)
      const variantSeed = seedData.random(
        purposes.extra,
        visitor.index,
        activity.of(visitor).length,
      )
      const at = Math.max(clock(), visitor.lastSeenAt)
      activity.add(visitor, { kind, at, variantSeed, position: activity.countEver(visitor) })
      visitors.change(id, { lastSeenAt: at, updatedAt: at })
    },
    /** `k`: which entry of the visitor's activity, oldest first. */
    editActivity(id: string, k: number, variantSeed: number) {
      const visitor = visitors.get(id)
      if (activity.of(visitor)[k] === undefined)
        throw new RangeError(`the visitor has no entry ${k}`)
      activity.edit(visitor, k, { variantSeed })
    },
    /** `k`: which entry of the visitor's activity, of all that there ever were. */
    deleteActivity: (id: string, k: number) => activity.remove(visitors.get(id), k),
    deleteVisitor: (id: string) => visitors.remove(id),
    /** `agoMs`: how long ago it ended, as a call may be recorded late. */
    addCall(visitorId = anyVisitorId(), agoMs = 0) {
      const endedAt = clock() - agoMs
      const startedAt = endedAt - 90_000
      const outcome = 'completed'
      return calls.add({ visitorId, startedAt, endedAt, outcome, recordedAt: null })
    },
    recordingAppears: (id: string) => calls.change(id, { recordedAt: clock() }),
    deleteCall: (id: string) => calls.remove(id),
  }
}

/** What a random change may use. `id`: of a row of the kind that it needs. */
type Chosen = {
  readonly state: ProjectState
  readonly mutate: ReturnType<typeof createMutations>
  readonly id: string
  readonly visitorId: string | undefined
  readonly text: string
  readonly draw: number
}

/**
 * How often each random change happens, in relation to the others; the row that it needs, without
 * which it does nothing; and what it does.
 */
const randomMutations = {
  visitorWrites: [3, 'conversations', ({ mutate, id, text }) => mutate.visitorWrites(id, text)],
  agentReplies: [2, 'conversations', ({ mutate, id, text }) => mutate.agentReplies(id, text)],
  handled: [2, 'conversations', ({ mutate, id }) => mutate.setHandled(id, true)],
  reopened: [1, 'conversations', ({ mutate, id }) => mutate.setHandled(id, false)],
  addConversation: [
    1,
    null,
    ({ mutate, visitorId, text }) => mutate.addConversation(visitorId, text),
  ],
  addVisitor: [
    1,
    null,
    ({ mutate, draw }) =>
      mutate.addVisitor({ name: `Newcomer ${draw % 1000}`, email: `new.${draw}@example.org` }),
  ],
  renameVisitor: [
    1,
    'visitors',
    ({ state, mutate, id, draw }) =>
      mutate.renameVisitor(id, `Renamed ${draw % 1000}`, state.visitors.get(id).email),
  ],
  addActivity: [2, 'visitors', ({ mutate, id }) => mutate.addActivity(id)],
  addCall: [1, null, ({ mutate, visitorId }) => mutate.addCall(visitorId)],
  lateCall: [
    1,
    null,
    ({ mutate, visitorId, draw }) => mutate.addCall(visitorId, integerBetween(1, 600, draw) * 1000),
  ],
  recordingAppears: [1, 'calls', ({ mutate, id }) => mutate.recordingAppears(id)],
  editMessage: [
    1,
    'conversations',
    ({ state: { conversations, messages }, mutate, id, text }) => {
      if (messages.of(conversations.get(id)).length > 0) mutate.editMessage(id, 0, text)
    },
  ],
  deleteMessage: [
    1,
    'conversations',
    ({ state: { conversations, messages }, mutate, id, draw }) => {
      const last = messages.countEver(conversations.get(id)) - 1
      if (last > 0) mutate.deleteMessage(id, draw % last)
    },
  ],
  deleteConversation: [1, 'conversations', ({ mutate, id }) => mutate.deleteConversation(id)],
  deleteVisitor: [1, 'visitors', ({ mutate, id }) => mutate.deleteVisitor(id)],
  deleteCall: [1, 'calls', ({ mutate, id }) => mutate.deleteCall(id)],
} satisfies Record<
  string,
  readonly [
    weight: number,
    needs: 'conversations' | 'visitors' | 'calls' | null,
    run: (chosen: Chosen) => unknown,
  ]
>
export type MutationKind = keyof typeof randomMutations

const mutationKinds = (Object.keys(randomMutations) as MutationKind[]).flatMap((kind) =>
  Array<MutationKind>(randomMutations[kind][0]).fill(kind),
)

/** An empty list selects all that delete nothing. Throws RangeError. */
export function parseMutationKinds(list: string): readonly MutationKind[] {
  const chosen = parseNames(list, mutationKinds, (name) => `there is no change ${name}`)
  return chosen.length > 0 ? chosen : mutationKinds.filter((kind) => !kind.startsWith('delete'))
}

/** `n` random changes, the same for the same seed and state. Returns what was done. */
export function applyRandomMutations(
  { state, mutate }: Pick<Chosen, 'state' | 'mutate'>,
  n: number,
  seed: number,
  kinds: readonly MutationKind[] = mutationKinds,
): readonly string[] {
  const random = createRandom(seed)
  return Array.from({ length: n }, (_, step) => {
    const kind = pick(kinds, random(purposes.mutation, step))
    const draw = random(purposes.mutation, step, 1)
    const text = state.seedData.sampleText.sentence(draw >>> 8, step)
    if (!Object.hasOwn(randomMutations, kind)) throw new RangeError(`there is no change ${kind}`)
    const [, needs, run] = randomMutations[kind]
    const id = needs === null ? '' : state[needs].pickNear(draw)?.id
    const visitorId = state.visitors.pickNear(draw)?.id
    if (id !== undefined) run({ state, mutate, id, visitorId, text, draw })
    return kind
  })
}
