/** The changes of a project's data: by the API, by visitors and agents, and at random. */
import type { Conversation, Message } from './model.ts'
import { createRandom, integerBetween, pick, purposes } from './random.ts'
import type { ProjectState } from './state.ts'
import { parseNames, type Switches } from './switches.ts'

export type Mutations = ReturnType<typeof createMutations>

/** Rows are named by their ids; an unknown id throws RangeError. */
export function createMutations(state: ProjectState, switches: () => Switches) {
  return { ...conversationMutations(state, switches), ...visitorMutations(state), ...callMutations(state) }
}

function conversationMutations(state: ProjectState, switches: () => Switches) {
  const { conversations, clock } = state
  const requireConversation = (id: string) => requireRow(conversations.find(id), 'conversation', id)
  /** A message also changes its conversation: its times, and who waits for an answer. */
  const addMessage = (
    conversation: Conversation,
    message: Omit<Message, 'id' | 'createdAt' | 'kind'>,
    patch: Partial<Conversation>,
  ) => {
    const added = state.addMessage(conversation, { ...message, kind: 'utterance' })
    const { createdAt, senderType } = added
    const newTimes = { lastMessageAt: createdAt, lastMessageSenderType: senderType, updatedAt: createdAt }
    conversations.change(conversation.index, { ...newTimes, ...patch })
    return added
  }
  const visitorWrites = (id: string, content = 'Any news?') => {
    const conversation = requireConversation(id)
    const reopened = switches()['reopen.byVisitor'] ? { handledAt: null } : {}
    const message = { senderType: 'visitor', senderDisplayName: 'Visitor', content }
    return addMessage(conversation, message, { waitingSince: conversation.waitingSince ?? clock(), ...reopened })
  }
  const agentWrites = (id: string, message: Pick<Message, 'senderDisplayName' | 'content' | 'reply'>) =>
    addMessage(requireConversation(id), { senderType: 'agent', ...message }, { handledAt: null, waitingSince: null })
  return {
    /** A conversation starts with its visitor's first message. */
    addConversation(visitorId?: string, content = 'Hello, is anybody there?') {
      const conversation = newConversation(state, visitorId ?? anyVisitorId(state))
      conversations.add(conversation)
      visitorWrites(conversation.id, content)
      return requireConversation(conversation.id)
    },
    visitorWrites,
    agentReplies: (id: string, content = 'We are on it.', senderDisplayName = 'Support') =>
      agentWrites(id, { senderDisplayName, content }),
    /** A reply that is sent by the API. */
    replyArrives: (id: string, content: string, senderDisplayName: string) =>
      agentWrites(id, { senderDisplayName, content, reply: true }),
    setHandled(id: string, handled: boolean) {
      const patch = handled ? { handledAt: clock(), waitingSince: null } : { handledAt: null }
      conversations.change(requireConversation(id).index, { ...patch, updatedAt: clock() })
      return requireConversation(id)
    },
    deleteConversation: (id: string) => conversations.remove(requireConversation(id).index),
    /** `k`: which message of the conversation, oldest first. */
    editMessage(id: string, k: number, content: string) {
      const messages = state.messages(requireConversation(id))
      if (k < 0 || k >= messages.length) throw new RangeError(`the conversation has no message ${k}`)
      state.editMessage(messages.rowAt(k).id, content)
    },
  }
}

function newConversation({ conversations, seedData, clock }: ProjectState, visitorId: string): Conversation {
  const [index, now] = [conversations.nextIndex(), clock()]
  return {
    index,
    id: seedData.conversations.ids.idAt(index),
    visitorId,
    createdAt: now,
    lastMessageAt: now,
    lastMessageSenderType: 'visitor',
    handledAt: null,
    waitingSince: now,
    assignedAgentId: null,
    origin: 'visitor_initiated',
    updatedAt: now,
  }
}

function visitorMutations(state: ProjectState) {
  const { visitors, seedData, clock } = state
  const requireVisitor = (id: string) => requireRow(visitors.find(id), 'visitor', id)
  return {
    addVisitor({ name = 'New Visitor', email = null }: { name?: string | null; email?: string | null } = {}) {
      const [index, now] = [visitors.nextIndex(), clock()]
      const id = seedData.visitors.ids.idAt(index)
      visitors.add({ index, id, name, email, createdAt: now, lastSeenAt: now, updatedAt: now })
      return requireVisitor(id)
    },
    /** Null clears a value. */
    renameVisitor(id: string, name: string | null, email: string | null) {
      visitors.change(requireVisitor(id).index, { name, email, updatedAt: clock() })
      return requireVisitor(id)
    },
    addNote: (id: string, content: string) => state.addNote(requireVisitor(id), content),
    addActivity(id: string, kind = 'page_view') {
      const visitor = requireVisitor(id)
      const variantSeed = seedData.random(purposes.extra, visitor.index, state.activity(visitor).length)
      const { at } = state.addActivity(visitor, { kind, variantSeed })
      visitors.change(visitor.index, { lastSeenAt: at, updatedAt: at })
    },
    /** `k`: which entry of the visitor's activity, oldest first. */
    editActivity(id: string, k: number, variantSeed: number) {
      const visitor = requireVisitor(id)
      if (k < 0 || k >= state.activity(visitor).length) throw new RangeError(`the visitor has no entry ${k}`)
      state.editActivity(visitor, k, variantSeed)
    },
    deleteVisitor: (id: string) => visitors.remove(requireVisitor(id).index),
  }
}

function callMutations(state: ProjectState) {
  const { calls, seedData, clock } = state
  const requireCall = (id: string) => requireRow(calls.find(id), 'call', id)
  return {
    /** `agoMs`: how long ago it ended; a call that is recorded late appears with an earlier time. */
    addCall(visitorId = anyVisitorId(state), agoMs = 0) {
      const [index, endedAt] = [calls.nextIndex(), clock() - agoMs]
      const [id, startedAt] = [seedData.calls.ids.idAt(index), endedAt - 90_000]
      calls.add({ index, id, visitorId, startedAt, endedAt, outcome: 'completed', recordedAt: null })
      return requireCall(id)
    },
    recordingAppears(id: string) {
      calls.change(requireCall(id).index, { recordedAt: clock() })
      return requireCall(id)
    },
    deleteCall: (id: string) => calls.remove(requireCall(id).index),
  }
}

function requireRow<T>(row: T | undefined, what: string, id: string): T {
  if (row === undefined) throw new RangeError(`there is no ${what} ${id}`)
  return row
}

function anyVisitorId({ visitors, seedData }: ProjectState): string {
  return visitors.pickNear(0)?.id ?? seedData.visitors.ids.idAt(0)
}

/** How often each random change happens, in relation to the others. */
const mutationWeights = {
  visitorWrites: 3,
  agentReplies: 2,
  handled: 2,
  reopened: 1,
  addConversation: 1,
  addVisitor: 1,
  renameVisitor: 1,
  addActivity: 2,
  addCall: 1,
  lateCall: 1,
  recordingAppears: 1,
  editMessage: 1,
  deleteConversation: 1,
  deleteVisitor: 1,
  deleteCall: 1,
}
export type MutationKind = keyof typeof mutationWeights

const mutationKinds = Object.entries(mutationWeights).flatMap(([kind, weight]) =>
  Array<MutationKind>(weight).fill(kind as MutationKind),
)

/** Parses a comma-separated list of kinds; an empty list selects all that delete nothing. Throws RangeError for others. */
export function parseMutationKinds(list: string): readonly MutationKind[] {
  const chosen = parseNames(list, mutationKinds, (name) => `there is no change ${name}`)
  return chosen.length > 0 ? chosen : mutationKinds.filter((kind) => !kind.startsWith('delete'))
}

type MutableProject = { readonly state: ProjectState; readonly mutate: Mutations }

/** `n` random changes, the same for the same seed and state. Returns what was done. */
export function applyRandomMutations(
  project: MutableProject,
  n: number,
  seed: number,
  kinds: readonly MutationKind[] = mutationKinds,
): readonly string[] {
  const random = createRandom(seed)
  return Array.from({ length: n }, (_, step) => {
    const kind = pick(kinds, random(purposes.mutation, step))
    applyMutation(project, kind, random(purposes.mutation, step, 1), step)
    return kind
  })
}

function applyMutation({ state, mutate }: MutableProject, kind: MutationKind, draw: number, step: number): void {
  const text = state.seedData.sampleText.sentence(draw >>> 8, step)
  const [conversation, visitor] = [state.conversations.pickNear(draw), state.visitors.pickNear(draw)]
  const call = state.calls.pickNear(draw)
  const actions: Record<MutationKind, () => unknown> = {
    visitorWrites: () => conversation && mutate.visitorWrites(conversation.id, text),
    agentReplies: () => conversation && mutate.agentReplies(conversation.id, text),
    handled: () => conversation && mutate.setHandled(conversation.id, true),
    reopened: () => conversation && mutate.setHandled(conversation.id, false),
    addConversation: () => mutate.addConversation(visitor?.id, text),
    addVisitor: () => mutate.addVisitor({ name: `Newcomer ${draw % 1000}`, email: `new.${draw}@example.org` }),
    renameVisitor: () => visitor && mutate.renameVisitor(visitor.id, `Renamed ${draw % 1000}`, visitor.email),
    addActivity: () => visitor && mutate.addActivity(visitor.id),
    addCall: () => mutate.addCall(visitor?.id),
    lateCall: () => mutate.addCall(visitor?.id, integerBetween(1, 600, draw) * 1000),
    recordingAppears: () => call && mutate.recordingAppears(call.id),
    editMessage: () =>
      conversation && state.messages(conversation).length > 0 && mutate.editMessage(conversation.id, 0, text),
    deleteConversation: () => conversation && mutate.deleteConversation(conversation.id),
    deleteVisitor: () => visitor && mutate.deleteVisitor(visitor.id),
    deleteCall: () => call && mutate.deleteCall(call.id),
  }
  if (!Object.hasOwn(actions, kind)) throw new RangeError(`there is no change ${kind}`)
  actions[kind]()
}
