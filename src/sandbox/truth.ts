/** All that a project holds now, as the service would answer it: what a true mirror must equal. */
import type { Json } from './json.ts'
import { availabilityOf } from './overview-operations.ts'
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

/** One row. `id`: its own, null where it has none; `parentId`: of its conversation, visitor or call, null for a row of a list. */
export type TruthRow = { readonly id: string | null; readonly parentId: string | null; readonly row: Json }

/**
 * Rows one by one: lists in the order of their creation, children oldest first below their parents. What was deleted is
 * not there, nor what hangs on it; a recording that would answer 404 is not there either.
 */
export function* truthOf(project: Project, stream: TruthStream, s: Switches): Generator<TruthRow> {
  const { state } = project
  const wire = project.wire()
  switch (stream) {
    case 'conversations':
      for (const row of state.conversations.all()) yield top(row.id, wire.conversation(row))
      return
    case 'visitors':
      for (const row of state.visitors.all()) yield top(row.id, wire.visitor(row))
      return
    case 'calls':
      for (const row of state.calls.all()) yield top(row.id, wire.call(row))
      return
    case 'messages':
      for (const parent of state.conversations.all()) {
        const messages = state.messages(parent)
        for (let k = 0; k < messages.length; k += 1) {
          const message = messages.rowAt(k)
          yield { id: String(message.id), parentId: parent.id, row: wire.message(parent.id, message) }
        }
      }
      return
    case 'visitor_activity':
      for (const parent of state.visitors.all()) {
        const entries = state.activity(parent)
        for (let k = 0; k < entries.length; k += 1) {
          yield { id: null, parentId: parent.id, row: wire.activity(entries.rowAt(k)) }
        }
      }
      return
    case 'call_recordings':
      for (const parent of state.calls.all()) {
        if (parent.recordedAt === null && s['recordings.none'] === '404') continue
        yield { id: null, parentId: parent.id, row: wire.recording(parent) }
      }
      return
    case 'availability':
      yield { id: null, parentId: null, row: availabilityOf(project, state.clock()) }
      return
    case 'notes':
      for (const note of state.notes()) yield { id: note.id, parentId: note.visitorId, row: wire.note(note) }
  }
}

function top(id: string, row: Json): TruthRow {
  return { id, parentId: null, row }
}
