/** Seeded random changes of a project, the same for the same seed and state. */

import type { Project } from './project.ts'
import { createRandom, integerBetween, pick, purposes } from './seed/random.ts'
import { parseNames } from './switches.ts'

const mutationKinds = [
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
export type MutationKind = (typeof mutationKinds)[number]

/** Parses a comma-separated list of kinds; an empty list selects all that delete nothing. Throws RangeError for others. */
export function parseMutationKinds(list: string): readonly MutationKind[] {
  const chosen = parseNames(list, mutationKinds, (name) => `there is no change ${name}`)
  return chosen.length > 0 ? chosen : mutationKinds.filter((kind) => !kind.startsWith('delete'))
}

/** `n` random changes, the same for the same seed and state. Returns what was done. */
export function applyRandomMutations(
  project: Pick<Project, 'state' | 'mutate'>,
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

function applyMutation(
  { state, mutate: mutations }: Pick<Project, 'state' | 'mutate'>,
  kind: MutationKind,
  draw: number,
  step: number,
): void {
  const text = state.seedData.sampleText.sentence(draw >>> 8, step, state.seedData.textVariety)
  const [conversation, visitor] = [state.conversations.pickNear(draw), state.visitors.pickNear(draw)]
  const call = state.calls.pickNear(draw)
  const actions: Record<MutationKind, () => void> = {
    visitorWrites: () => conversation && mutations.visitorWrites(conversation.id, text),
    agentReplies: () => conversation && mutations.agentReplies(conversation.id, text),
    handled: () => conversation && mutations.setHandled(conversation.id, true),
    reopened: () => conversation && mutations.setHandled(conversation.id, false),
    addConversation: () => mutations.addConversation(visitor?.id, text),
    addVisitor: () => mutations.addVisitor({ name: `Newcomer ${draw % 1000}`, email: `new.${draw}@example.org` }),
    renameVisitor: () => visitor && mutations.renameVisitor(visitor.id, `Renamed ${draw % 1000}`, visitor.email),
    addActivity: () => visitor && mutations.addActivity(visitor.id),
    addCall: () => mutations.addCall(visitor?.id),
    lateCall: () => mutations.addCall(visitor?.id, integerBetween(1, 600, draw) * 1000),
    recordingAppears: () => call && mutations.recordingAppears(call.id),
    editMessage: () =>
      conversation && state.messages(conversation).length > 0 && mutations.editMessage(conversation.id, 0, text),
    deleteConversation: () => conversation && mutations.deleteConversation(conversation.id),
    deleteVisitor: () => visitor && mutations.deleteVisitor(visitor.id),
    deleteCall: () => call && mutations.deleteCall(call.id),
  }
  if (!Object.hasOwn(actions, kind)) throw new RangeError(`there is no change ${kind}`)
  actions[kind]()
}
