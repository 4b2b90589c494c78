/** The complete current data of a project, in the service's format: what a correct mirror must equal. */
import type { Json } from '../values/json.ts'
import { each } from './model.ts'
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
  *conversations({ state, view, wire }: Project) {
    for (const row of state.conversations.all())
      yield listRow(row.id, wire().conversation(view().asShown.conversation(row)))
  },
  *messages({ state, view, wire }: Project) {
    for (const parent of state.conversations.all()) {
      for (const message of each(state.messages(parent))) {
        const row = wire().message(parent.id, view().asShown.message(parent, message))
        yield { id: String(row.id), parentId: parent.id, row }
      }
    }
  },
  *visitors({ state, view, wire }: Project) {
    for (const row of state.visitors.all()) yield listRow(row.id, wire().visitor(view().asShown.visitor(row)))
  },
  *visitor_activity({ state, view, wire }: Project) {
    for (const parent of state.visitors.all())
      for (const [k, row] of [...each(state.activity(parent))].entries())
        yield { id: null, parentId: parent.id, row: wire().activity(view().asShown.activity(parent, row, k)) }
  },
  *calls({ state, view, wire }: Project) {
    for (const row of state.calls.all()) yield listRow(row.id, wire().call(view().asShown.call(row)))
  },
  *call_recordings({ state, view, wire }: Project, s: Switches) {
    for (const parent of state.calls.all()) {
      if (parent.recordedAt === null && s['recordings.none'] === '404') continue
      yield { id: null, parentId: parent.id, row: wire().recording(view().asShown.call(parent)) }
    }
  },
  *availability(project: Project) {
    yield { id: null, parentId: null, row: computeAvailability(project, project.state.clock()) }
  },
  *notes({ state, wire }: Project) {
    for (const note of state.notes()) yield { id: note.id, parentId: note.visitorId, row: wire().note(note) }
  },
} satisfies Record<string, (project: Project, s: Switches) => Generator<TruthRow>>

export type TruthStream = keyof typeof rowsOf
export const truthStreams = Object.keys(rowsOf) as TruthStream[]

export function truthOf(project: Project, stream: TruthStream, s: Switches): Generator<TruthRow> {
  return rowsOf[stream](project, s)
}

function listRow(id: string, row: Json): TruthRow {
  return { id, parentId: null, row }
}
