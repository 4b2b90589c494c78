/** One project of the service: its rows, its writes, its mutations, and all of its data: what a correct mirror must equal. */

import type { Json } from '../values/json.ts'
import type { EpochMs } from '../values/time.ts'
import { createMutations } from './mutations.ts'
import { createRandom, purposes } from './random.ts'
import { createRowIds, type SeedOptions } from './seed-context.ts'
import { createSeedData } from './seed-data.ts'
import { createProjectState } from './state.ts'
import type { Switches } from './switches.ts'
import { createView, type View } from './view.ts'

export type Project = ReturnType<typeof createProject>

/** A write that the service performed, whether or not its response arrived. Times use the service's clock. */
type LedgerEntry = {
  readonly requestId: string
  readonly operation: string
  readonly params: Readonly<Record<string, string | undefined>>
  readonly body: Json
  readonly at: EpochMs
}

export function projectIdFromSeed(seed: number): string {
  return createRowIds(createRandom(seed), purposes.project).idAt(0)
}

export function createProject(id: string, seedOptions: SeedOptions, clock: () => EpochMs, switches: () => Switches) {
  const createContents = () => {
    const state = createProjectState(createSeedData(seedOptions, switches()), clock)
    return { state, mutate: createMutations(state, switches) }
  }
  // Created on first use, so that many projects start as fast as one.
  let contents: ReturnType<typeof createContents> | undefined
  let shown: { readonly under: Switches; readonly view: View } | undefined
  const project = {
    id,
    ledger: [] as LedgerEntry[],
    /** Recreates the seed data under the current switches. */
    reset() {
      contents = undefined
      shown = undefined
    },
    get state() {
      contents ??= createContents()
      return contents.state
    },
    get mutate() {
      contents ??= createContents()
      return contents.mutate
    },
    /** Its visible rows, in the service's format, under the current switches. */
    view: (): View => {
      const s = switches()
      if (shown?.under !== s) shown = { under: s, view: createView(id, project.state, s) }
      return shown.view
    },
  }
  return project
}

export function computeAvailability({ id, state }: Project, now: EpochMs): Json {
  const agentsOnline = state.seedData.random(purposes.agent, 0, Math.floor(now / 60_000)) % 5
  return { projectId: id, available: agentsOnline > 0, agentsOnline }
}

/** `id`: null for rows without one; `parentId`: the conversation, visitor or call, null for a row of a list. */
type TruthRow = { readonly id: string | null; readonly parentId: string | null; readonly row: Json }

/**
 * Lists in order of creation, and children below their parents, oldest first. Without deleted rows and their children, and
 * without recordings that would return 404.
 */
const rowsOf = {
  conversations: ({ state, view }: Project) =>
    state.conversations.all().map((row) => listRow(row.id, view().conversations.current(row))),
  messages: ({ state, view }: Project) =>
    state.conversations.all().flatMap((parent) =>
      state.messages(parent).map((message): TruthRow => {
        const row = view().messages.current(parent, message)
        return { id: String(row.id), parentId: parent.id, row }
      }),
    ),
  visitors: ({ state, view }: Project) =>
    state.visitors.all().map((row) => listRow(row.id, view().visitors.current(row))),
  visitor_activity: ({ state, view }: Project) =>
    state.visitors
      .all()
      .flatMap((parent) =>
        state.activity(parent).map((row, k) => childRow(parent.id, view().activity.current(parent, row, k))),
      ),
  calls: ({ state, view }: Project) => state.calls.all().map((row) => listRow(row.id, view().calls.current(row))),
  call_recordings: ({ state, view }: Project, s: Switches) =>
    state.calls
      .all()
      .filter(({ recordedAt }) => recordedAt !== null || s['recordings.none'] !== '404')
      .map((parent) => childRow(parent.id, view().recording(view().shownCall(parent)))),
  availability: (project: Project) => [childRow(null, computeAvailability(project, project.state.clock()))].values(),
  notes: ({ state, view }: Project) =>
    state.notes.values().map((note): TruthRow => ({ id: note.id, parentId: note.visitorId, row: view().note(note) })),
} satisfies Record<string, (project: Project, s: Switches) => IteratorObject<TruthRow>>

export type TruthStream = keyof typeof rowsOf
export const truthStreams = Object.keys(rowsOf) as TruthStream[]

export function truthOf(project: Project, stream: TruthStream, s: Switches): IteratorObject<TruthRow, undefined> {
  return rowsOf[stream](project, s)
}

function listRow(id: string, row: Json): TruthRow {
  return { id, parentId: null, row }
}

function childRow(parentId: string | null, row: Json): TruthRow {
  return { id: null, parentId, row }
}
