/** One project of the service: rows, writes, mutations, and what a correct mirror must equal. */
import type { Json } from '../values/json.ts'
import type { EpochMs } from '../values/time.ts'
import { createMutations } from './mutations.ts'
import { createRandom, purposes } from './random.ts'
import { createRowIds, type SeedOptions } from './seed-context.ts'
import { createSeedData } from './seed-data.ts'
import { createProjectState, type ProjectState } from './state.ts'
import type { Switches } from './switches.ts'
import { createView, type View } from './view.ts'

export type Project = ReturnType<typeof createProject>

export const projectIdFromSeed = (seed: number): string =>
  createRowIds(createRandom(seed), purposes.project).idAt(0)

export function createProject(
  id: string,
  seedOptions: SeedOptions,
  clock: () => EpochMs,
  switches: () => Switches,
) {
  const createContents = () => {
    const state = createProjectState(createSeedData(seedOptions, switches()), clock)
    return { state, mutate: createMutations(state, switches) }
  }
  let contents = createContents()
  return {
    id,
    /** What was performed, whether or not the response arrived. Times use the service's clock. */
    ledger: [] as {
      readonly requestId: string
      readonly operation: string
      readonly params: Readonly<Record<string, string | undefined>>
      readonly body: Json
      readonly at: EpochMs
    }[],
    /** Recreates the seed data under the current switches. */
    reset() {
      contents = createContents()
    },
    get state() {
      return contents.state
    },
    get mutate() {
      return contents.mutate
    },
    /** Its visible rows, in the service's format, under the current switches. */
    view: (): View => createView(id, contents.state, switches()),
  }
}

/** `id`: null for rows without one; `parentId`: null for a row of a list. */
type TruthRow = { readonly id: string | null; readonly parentId: string | null; readonly row: Json }

/**
 * In order of creation, children below their parents, without what is deleted or would be a 404.
 */
const rowsOf = {
  conversations: (_: ProjectState, view: View) => view.conversations.all(),
  messages: ({ conversations, messages }: ProjectState, view: View) =>
    conversations.all().flatMap((parent) =>
      messages.of(parent).map((message) => {
        const row = view.messages.current(parent, message)
        return { id: String(row.id), parentId: parent.id, row }
      }),
    ),
  visitors: (_: ProjectState, view: View) => view.visitors.all(),
  visitor_activity: ({ visitors, activity }: ProjectState, view: View) =>
    visitors.all().flatMap((parent) =>
      activity.of(parent).map((entry, k) => {
        return { id: null, parentId: parent.id, row: view.activity.current(parent, entry, k) }
      }),
    ),
  calls: (_: ProjectState, view: View) => view.calls.all(),
  call_recordings: ({ calls }: ProjectState, view: View) =>
    calls.all().flatMap((parent) => {
      const row = view.currentRecording(parent)
      return row === null ? [] : [{ id: null, parentId: parent.id, row }]
    }),
  availability: ({ clock }: ProjectState, view: View) =>
    [{ id: null, parentId: null, row: view.availability(clock()) }].values(),
  notes: ({ notes }: ProjectState, view: View) =>
    notes.values().map((note) => ({ id: note.id, parentId: note.visitorId, row: view.note(note) })),
} satisfies Record<string, (state: ProjectState, view: View) => IteratorObject<TruthRow>>

export type TruthStream = keyof typeof rowsOf
export const truthStreams = Object.keys(rowsOf) as TruthStream[]

export function truthOf(
  { state, view }: Project,
  stream: TruthStream,
): IteratorObject<TruthRow, undefined> {
  return rowsOf[stream](state, view())
}
