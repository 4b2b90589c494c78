/** The complete current data of a project, in the service's format: what a correct mirror must equal. */
import type { Json } from '../core/row.ts'
import { computeAvailability } from './api/overview-operations.ts'
import { each } from './model.ts'
import type { Project } from './project.ts'
import type { Switches } from './switches.ts'

export const truthStreams = [
  'conversations',
  'messages',
  'visitors',
  'visitor_activity',
  'calls',
  'call_recordings',
  'availability',
  'notes',
] as const
export type TruthStream = (typeof truthStreams)[number]

/** `id`: null for rows without one; `parentId`: the conversation, visitor or call, null for a row of a list. */
export type TruthRow = { readonly id: string | null; readonly parentId: string | null; readonly row: Json }

/**
 * Yields lists in order of creation, and children below their parents, oldest first. Omits deleted rows with their
 * children, and recordings that would return 404.
 */
export function truthOf(project: Project, stream: TruthStream, s: Switches): Generator<TruthRow> {
  return rowsOf[stream](project, s)
}

const rowsOf: Record<TruthStream, (project: Project, s: Switches) => Generator<TruthRow>> = {
  *conversations({ state, view, wire }) {
    for (const row of state.conversations.all())
      yield listRow(row.id, wire().conversation(view().asShown.conversation(row)))
  },
  *visitors({ state, view, wire }) {
    for (const row of state.visitors.all()) yield listRow(row.id, wire().visitor(view().asShown.visitor(row)))
  },
  *calls({ state, view, wire }) {
    for (const row of state.calls.all()) yield listRow(row.id, wire().call(view().asShown.call(row)))
  },
  *messages({ state, view, wire }) {
    for (const parent of state.conversations.all()) {
      for (const row of each(state.messages(parent))) {
        const shown = wire().message(parent.id, view().asShown.message(parent, row))
        yield { id: String(shown.id), parentId: parent.id, row: shown }
      }
    }
  },
  *visitor_activity({ state, view, wire }) {
    for (const parent of state.visitors.all()) {
      const shown = [...each(state.activity(parent))].map((row, k) => view().asShown.activity(parent, row, k))
      for (const row of shown) yield { id: null, parentId: parent.id, row: wire().activity(row) }
    }
  },
  *call_recordings({ state, view, wire }, s) {
    for (const parent of state.calls.all()) {
      if (parent.recordedAt === null && s['recordings.none'] === '404') continue
      yield { id: null, parentId: parent.id, row: wire().recording(view().asShown.call(parent)) }
    }
  },
  *availability(project) {
    yield { id: null, parentId: null, row: computeAvailability(project, project.state.clock()) }
  },
  *notes({ state, wire }) {
    for (const note of state.notes()) yield { id: note.id, parentId: note.visitorId, row: wire().note(note) }
  },
}

function listRow(id: string, row: Json): TruthRow {
  return { id, parentId: null, row }
}
