/** The audit log: who signed in, and who decided what. */

import type { AuditEvent } from '../../outbox/core/decisions.ts'
import { withQuery } from '../../values/address.ts'
import { formatCount } from '../../values/format.ts'
import { html } from '../../values/html.ts'
import type { ProjectId, ProjectName } from '../../values/project.ts'
import { older, table } from '../blocks.ts'
import type { Frame, Page } from '../page.ts'
import { foreignText, timeOf } from '../text.ts'

type AuditLogData = {
  readonly events: readonly AuditEvent[]
  readonly next: string | null
  /** Of the configured projects. */
  readonly names: ReadonlyMap<ProjectId, ProjectName>
}

export function auditLogPage({ events, next, names }: AuditLogData, frame: Frame): Page {
  const content = html`<p class="faint">Every sign-in and every decision. Looking at a page is not an event. Times are UTC.</p>
${table(
  'Events, the newest first',
  ['When', 'Who', 'Did', 'About', '#Rows', 'Why'],
  events.map(({ at, person, role, action, project, subject, count, detail }) => [
    timeOf(at, frame),
    html`${foreignText(person)} <span class="faint">${role}</span>`,
    action.replaceAll('_', ' '),
    foreignText([names.get(project) ?? project, subject ?? ''].filter((part) => part !== '').join(' ')),
    count === null ? '–' : formatCount(count),
    foreignText(detail),
  ]),
  'Nothing has been decided yet.',
)}
${older(next === null ? null : withQuery('/console/log', { before: next }))}`
  return { title: 'Audit log', section: 'Audit log', content }
}
