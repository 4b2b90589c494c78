/** What pages say of columns that are not stored, or only as a hash. */
import type { StreamName } from '../../schema/stream-specs.ts'
import { toColumnRules } from '../config/column-settings.ts'
import { type Html, html, nothing } from '../values/html.ts'
import type { ConsoleProject } from './project.ts'

export const rulesOf = ({ columns, hashKey }: ConsoleProject) => toColumnRules({ columns, hashKey })

/** What a page does not show, because it is not stored. */
export function storedNote({ columns }: ConsoleProject, streams: readonly StreamName[]): Html {
  const shown = columns.filter(({ stream }) => stream === '*' || streams.some((s) => s === stream))
  if (shown.length === 0) return nothing
  const names = shown.map(
    ({ stream, path, action }) => `${stream}.${path}${action === 'hash' ? ' (a hash is)' : ''}`,
  )
  return html`<p class="faint">Not stored: ${names.join(', ')}.</p>`
}

/** By what of their own nobody is found, or only by all of it. */
export function searchNote(project: ConsoleProject): Html {
  const rules = rulesOf(project)
  const notes = (['name', 'email'] as const).flatMap((field) => {
    const action = rules.actionOf('visitors', field)
    const what = field === 'name' ? 'Names' : 'E-mail addresses'
    if (action === null) return []
    return action === 'block'
      ? `${what} are not stored, so nobody is found by one.`
      : `${what} are stored as hashes: only a whole one is found.`
  })
  return notes.length === 0 ? nothing : html`<p class="faint">${notes.join(' ')}</p>`
}
