/** Life goes on: seeded random changes of a project, the same for the same seed and state. */

import type { Mutations } from './mutations.ts'
import { between, type Dice, diceFor, pick, purposes } from './past/dice.ts'
import type { State } from './state.ts'

const kindsOfChange = [
  'visitorWrites',
  'visitorWrites',
  'visitorWrites',
  'agentReplies',
  'agentReplies',
  'handled',
  'handled',
  'reopened',
  'addConversation',
  'addVisitor',
  'renameVisitor',
  'addActivity',
  'addActivity',
  'addCall',
  'lateCall',
  'recordingAppears',
  'editMessage',
  'deleteConversation',
  'deleteVisitor',
  'deleteCall',
] as const
export type ChangeKind = (typeof kindsOfChange)[number]

/** The kinds that a comma-separated list names; of an empty one, all that delete nothing. Throws a RangeError for others. */
export function changeKinds(list: string): readonly ChangeKind[] {
  const names = list.split(',').map((name) => name.trim())
  const chosen = names.filter((name) => name !== '')
  for (const name of chosen) {
    if (!kindsOfChange.some((kind) => kind === name)) throw new RangeError(`there is no change ${name}`)
  }
  return chosen.length > 0 ? (chosen as ChangeKind[]) : kindsOfChange.filter((kind) => !kind.startsWith('delete'))
}

/** `n` random changes, the same for the same seed and state. Answers what was done. */
export function churn(
  state: State,
  mutations: Mutations,
  n: number,
  seed: number,
  kinds: readonly ChangeKind[] = kindsOfChange,
): readonly string[] {
  const dice = diceFor(seed)
  return Array.from({ length: n }, (_, step) =>
    oneChange(state, mutations, dice, step, pick(kinds, dice(purposes.churn, step))),
  )
}

function oneChange(state: State, m: Mutations, dice: Dice, step: number, kind: ChangeKind): string {
  const thrown = dice(purposes.churn, step, 1)
  const text = state.world.phrases.sentence(thrown >>> 8, step, state.world.content)
  const [conversation, visitor, call] = [
    state.conversations.near(thrown),
    state.visitors.near(thrown),
    state.calls.near(thrown),
  ]
  const actions: Record<ChangeKind, () => void> = {
    visitorWrites: () => conversation && m.visitorWrites(conversation.id, text),
    agentReplies: () => conversation && m.agentReplies(conversation.id, text),
    handled: () => conversation && m.setHandled(conversation.id, true),
    reopened: () => conversation && m.setHandled(conversation.id, false),
    addConversation: () => m.addConversation(visitor?.id, text),
    addVisitor: () => m.addVisitor({ name: `Newcomer ${thrown % 1000}`, email: `new.${thrown}@example.org` }),
    renameVisitor: () => visitor && m.renameVisitor(visitor.id, `Renamed ${thrown % 1000}`, visitor.email),
    addActivity: () => visitor && m.addActivity(visitor.id),
    addCall: () => m.addCall(visitor?.id),
    lateCall: () => m.addCall(visitor?.id, between(1, 600, thrown) * 1000),
    recordingAppears: () => call && m.recordingAppears(call.id),
    editMessage: () =>
      conversation && state.messages(conversation).length > 0 && m.editMessage(conversation.id, 0, text),
    deleteConversation: () => conversation && m.deleteConversation(conversation.id),
    deleteVisitor: () => visitor && m.deleteVisitor(visitor.id),
    deleteCall: () => call && m.deleteCall(call.id),
  }
  if (!Object.hasOwn(actions, kind)) throw new RangeError(`there is no change ${kind}`)
  actions[kind]()
  return kind
}
