/** The overview of a project: first what a person must do, then what is wrong and what is fine, then the numbers. */
import type { OverviewData } from '../../core/console/data.ts'
import { path } from '../../core/html/address.ts'
import { attribute, html, nothing } from '../../core/html/html.ts'
import { section, sentences } from '../blocks.ts'
import { budgetChart, budgetLegend } from '../budget-chart.ts'
import type { Page, ProjectFrame } from '../page.ts'
import { overviewSentences, overviewShape } from './overview-sentences.ts'
import { runTable } from './runs.ts'
import { streamTable } from './streams.ts'

export function overviewPage(data: OverviewData, frame: ProjectFrame): Page {
  const { project } = frame
  const link = (name: string, address: string) => html`<a href="${path`/console/p/${project}` + address}">${name}</a>`
  const hasBudget = data.budget.bars.length > 0
  const content = html`<div ${attribute('data-live-shape', overviewShape(data, frame))} ${attribute('data-live-about', 'overview')}>${sentences(overviewSentences(data, frame), frame)}</div>
<p class="newer" ${attribute('data-live-newer', true)} ${attribute('hidden', true)}>Something has changed. <a href="${path`/console/p/${project}`}">Show it</a></p>
${hasBudget ? section('Request budget', html`${budgetLegend}${budgetChart(data.budget, frame)}`, link('Budget', '/budget')) : nothing}
${section('Streams', streamTable(data.streams, frame), link('Details and gaps', '/streams'))}
${section('Last runs', runTable(data.runs, frame), link('All runs', '/runs'))}`
  return { title: 'Overview', section: 'Overview', content, isLive: true }
}

/** `worst`: the sentence of the project that matters most. */
export type ProjectRow = { readonly name: string; readonly data: OverviewData; readonly frame: ProjectFrame }

/** One line for each project: its most serious sentence. */
export function projectsPage(rows: readonly ProjectRow[]): Page {
  const parts = rows.map(({ name, data, frame }) => {
    const list = overviewSentences(data, frame).toSorted((a, b) => severity(a.kind) - severity(b.kind))
    const link = { to: path`/console/p/${name}`, label: 'Open' }
    return list
      .slice(0, 1)
      .map(({ kind, text }) => ({ sentence: { kind, text: html`<b><bdi>${name}</bdi></b>: ${text}`, link }, frame }))
  })
  const [first] = parts.flat()
  const content =
    first === undefined
      ? html`<p class="empty">No project has been mirrored into this warehouse.</p>`
      : sentences(
          parts.flat().map(({ sentence }) => sentence),
          first.frame,
        )
  return { title: 'Projects', section: 'Projects', content }
}

const severities: readonly string[] = ['act', 'wrong', 'clock', 'fine', 'note']
function severity(kind: string): number {
  return severities.indexOf(kind)
}
