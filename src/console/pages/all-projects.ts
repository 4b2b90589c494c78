/**
 * Pages about all projects: one line for each, and the audit log: who signed in, and who decided
 * what.
 */
import type { FastifyRequest } from 'fastify'
import { withQuery } from '../../values/address.ts'
import { formatCount } from '../../values/format.ts'
import { html } from '../../values/html.ts'
import { addressOf, older, sentences, table } from '../blocks.ts'
import { placeIn, rowsPerPage, toPage } from '../core/list-page.ts'
import type { ConsolePage } from '../frame.ts'
import { type Site, valuesOf } from '../routes/site.ts'
import { foreignText, timeOf } from '../text.ts'
import { overviewSentences } from './overview.ts'

/** The worst first. */
const severities: readonly string[] = ['act', 'wrong', 'clock', 'fine', 'note']

/** Of each project its most serious sentence. */
export async function showProjects(
  { projects, reads, ...site }: Site,
  { viewer, query }: FastifyRequest,
): Promise<ConsolePage> {
  const [after = null] = valuesOf(query)('after')
  const from = placeIn(after)
  const numbered = (await projects()).map((project, n) => ({ project, place: n + 1 }))
  const { rows, next } = toPage(numbered.slice(from), rowsPerPage, ({ place }) => place)
  const lines = rows.map(async ({ project }) => {
    const frame = await site.projectFrame(viewer, project)
    const list = overviewSentences(await reads.overview(project), frame)
    const [worst] = list.toSorted((a, b) => severities.indexOf(a.kind) - severities.indexOf(b.kind))
    if (worst === undefined) return []
    const text = html`<b><bdi>${project.name}</bdi></b>: ${worst.text}`
    return [{ kind: worst.kind, text, link: { to: addressOf(frame), label: 'Open' } }]
  })
  const shown = (await Promise.all(lines)).flat()
  const empty = html`<p class="empty">No project has been mirrored into this warehouse.</p>`
  return {
    title: 'Projects',
    section: 'Projects',
    content: html`${shown.length === 0 ? empty : sentences(shown, site)}
${older(next === null ? null : withQuery('/console/projects', { after: next }), 'More projects')}`,
  }
}

export async function showAuditLog(site: Site, request: FastifyRequest): Promise<ConsolePage> {
  const [before = null] = valuesOf(request.query)('before')
  const found = await site.store.list(before, rowsPerPage + 1)
  const { rows, next } = toPage(found, rowsPerPage, ({ id }) => id)
  const names = new Map((await site.projects()).map(({ projectId, name }) => [projectId, name]))
  const log = table(
    'Events, the newest first',
    ['When', 'Who', 'Did', 'About', '#Rows', 'Detail'],
    rows.map(({ at, person, role, action, project, subject, count, detail }) => [
      timeOf(at, { timeZone: 'UTC' }),
      html`${foreignText(person)} <span class="faint">${role}</span>`,
      action.replaceAll('_', ' '),
      foreignText(
        [names.get(project) ?? project, subject ?? ''].filter((part) => part !== '').join(' '),
      ),
      count === null ? '–' : formatCount(count),
      foreignText(detail),
    ]),
    'Nothing has been decided yet.',
  )
  const content = html`<p class="faint">Every sign-in, and every decision made in the console: a
    write-back's own page also has those of the command line. Looking at a page is not an event.
    Times are UTC.</p>
${log}
${older(next === null ? null : withQuery('/console/log', { before: next }))}`
  return { title: 'Audit log', section: 'Audit log', content }
}
