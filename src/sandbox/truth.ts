/** The complete current data of a project, in the service's format: what a correct mirror must equal. */
import type { Json } from '../values/json.ts'
import { computeAvailability } from './operations.ts'
import type { Project } from './project.ts'
import type { Switches } from './switches.ts'

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
