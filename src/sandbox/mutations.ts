/** The changes of a project's data: writes of the API, and changes by visitors and agents. */

import type { Conversation, Message } from './model.ts'
import { purposes } from './seed/random.ts'
import type { ProjectState } from './state.ts'
import type { Switches } from './switches.ts'

export type Mutations = ReturnType<typeof createMutations>

/** Rows are named by their ids; an unknown id throws RangeError. */
export function createMutations(state: ProjectState, switches: () => Switches) {
  return { ...conversationMutations(state, switches), ...visitorMutations(state), ...callMutations(state) }
}

function conversationMutations(state: ProjectState, switches: () => Switches) {
  const { conversations, clock } = state
  const requireConversation = (id: string) => requireRow(conversations.find(id), 'conversation', id)
  const { visitorWrites, agentWrites } = createMessageWriter(state, switches)
  return {
    /** A conversation starts with its visitor's first message. */
    addConversation(visitorId?: string, content = 'Hello, is anybody there?') {
      const conversation = newConversation(state, visitorId ?? anyVisitorId(state))
      conversations.add(conversation)
      visitorWrites(conversation, content)
      return requireConversation(conversation.id)
    },
    visitorWrites: (id: string, content = 'Any news?') => visitorWrites(requireConversation(id), content),
    agentReplies: (id: string, content = 'We are on it.', senderDisplayName = 'Support') =>
      agentWrites(requireConversation(id), { senderDisplayName, content }),
    /** A reply that is sent by the API. */
    replyArrives: (id: string, content: string, senderDisplayName: string) =>
      agentWrites(requireConversation(id), { senderDisplayName, content, reply: true }),
    setHandled(id: string, handled: boolean) {
      const { index } = requireConversation(id)
      const patch = handled ? { handledAt: clock(), waitingSince: null } : { handledAt: null }
      conversations.change(index, { ...patch, updatedAt: clock() })
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

/** A message also changes its conversation: its times, and who waits for an answer. */
function createMessageWriter(state: ProjectState, switches: () => Switches) {
  const addMessage = (
    conversation: Conversation,
    message: Omit<Message, 'id' | 'createdAt' | 'kind'>,
    patch: Partial<Conversation>,
  ) => {
    const added = state.addMessage(conversation, { ...message, kind: 'utterance' })
    const { createdAt, senderType } = added
    const newTimes = { lastMessageAt: createdAt, lastMessageSenderType: senderType, updatedAt: createdAt }
    state.conversations.change(conversation.index, { ...newTimes, ...patch })
    return added
  }
  return {
    visitorWrites(conversation: Conversation, content: string) {
      const patch = { waitingSince: conversation.waitingSince ?? state.clock() }
      const reopened = switches()['reopen.byVisitor'] ? { handledAt: null } : {}
      const message = { senderType: 'visitor', senderDisplayName: 'Visitor', content }
      return addMessage(conversation, message, { ...patch, ...reopened })
    },
    agentWrites: (conversation: Conversation, message: Pick<Message, 'senderDisplayName' | 'content' | 'reply'>) =>
      addMessage(conversation, { senderType: 'agent', ...message }, { handledAt: null, waitingSince: null }),
  }
}

function newConversation(state: ProjectState, visitorId: string): Conversation {
  const index = state.conversations.nextIndex()
  const now = state.clock()
  return {
    index,
    id: state.identities.conversation.idAt(index),
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
  const { visitors, clock } = state
  const requireVisitor = (id: string) => requireRow(visitors.find(id), 'visitor', id)
  return {
    addVisitor({ name = 'New Visitor', email = null }: { name?: string | null; email?: string | null } = {}) {
      const [index, now] = [visitors.nextIndex(), clock()]
      const id = state.identities.visitor.idAt(index)
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
      const variantSeed = state.seedData.random(purposes.extra, visitor.index, state.activity(visitor).length)
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
  const { calls, clock } = state
  const requireCall = (id: string) => requireRow(calls.find(id), 'call', id)
  return {
    /** `agoMs`: how long ago it ended; a call that is recorded late appears with an earlier time. */
    addCall(visitorId?: string, agoMs = 0) {
      const [index, endedAt] = [calls.nextIndex(), clock() - agoMs]
      const id = state.identities.call.idAt(index)
      const startedAt = endedAt - 90_000
      const visitor = visitorId ?? anyVisitorId(state)
      calls.add({ index, id, visitorId: visitor, startedAt, endedAt, outcome: 'completed', recordedAt: null })
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

function anyVisitorId(state: ProjectState): string {
  return state.visitors.pickNear(0)?.id ?? state.identities.visitor.idAt(0)
}
