/** Sync runs, and one of them. */

import { table } from '../../document/table.ts'
import { path, withQuery } from '../../values/address.ts'
import { formatCount, formatDuration } from '../../values/format.ts'
import { type Html, html } from '../../values/html.ts'
import { choices, facts, older, section } from '../blocks.ts'
import type { RunData, RunRow } from '../core/data.ts'
import type { Page, ProjectFrame } from '../page.ts'
import { foreignText, roughly, timeOf } from '../text.ts'
import { streamTitle } from './streams.ts'

const outcomeWords: Readonly<Record<string, string>> = {
  complete: 'complete',
  gaps: 'complete, with gaps',
  failed: 'failed',
  interrupted: 'interrupted',
}

function outcomeOf({ outcome, startedAt }: RunRow, now: number): string {
  return outcome === null ? `running for ${roughly(now - Date.parse(startedAt))}` : (outcomeWords[outcome] ?? outcome)
}

export function runTable(runs: readonly RunRow[], frame: ProjectFrame): Html {
  return table({
    caption: 'Sync runs, the last one first',
    columns: [
      { title: 'Started' },
      { title: 'Mode' },
      { title: 'Outcome' },
      { title: 'Took', isNumber: true },
      { title: 'Requests', isNumber: true },
      { title: 'Rows', isNumber: true },
      { title: 'Changed', isNumber: true },
    ],
    rows: runs.map((run) => [
      html`<a href="${path`/console/p/${frame.project}/runs/${run.id}`}">${timeOf(run.startedAt, frame)}</a>`,
      run.mode,
      html`<span class="outcome ${run.outcome ?? 'running'}">${outcomeOf(run, frame.now)}</span>`,
      tookText(run),
      formatCount(run.requests),
      formatCount(run.rows),
      formatCount(run.changed),
    ]),
    empty: 'There is no such run.',
  })
}

function tookText({ startedAt, finishedAt }: RunRow): string {
  return finishedAt === null ? '–' : formatDuration(Date.parse(finishedAt) - Date.parse(startedAt))
}

/** `outcome` null: all of them. */
type RunsData = {
  readonly runs: readonly RunRow[]
  readonly outcome: string | null
  readonly next: string | null
}

export function runsPage({ runs, outcome, next }: RunsData, frame: ProjectFrame): Page {
  const address = path`/console/p/${frame.project}/runs`
  const filters = [null, 'complete', 'gaps', 'failed', 'interrupted'].map((value) => ({
    label: value === null ? 'All' : (outcomeWords[value] ?? value),
    to: withQuery(address, { outcome: value }),
    isChosen: value === outcome,
  }))
  const content = html`${choices('Outcome', filters)}${runTable(runs, frame)}
${older(next === null ? null : withQuery(address, { outcome, before: next }))}`
  return { title: 'Runs', section: 'Runs', content }
}

export function runPage(run: RunData, frame: ProjectFrame): Page {
  const streams = table({
    caption: 'What the run did in each stream',
    columns: [
      { title: 'Stream' },
      { title: 'Requests', isNumber: true },
      { title: 'Rows', isNumber: true },
      { title: 'Changed', isNumber: true },
      { title: 'Took', isNumber: true },
      { title: 'Result' },
    ],
    rows: run.streams.map((it) => [
      streamTitle(it.stream),
      formatCount(it.requests),
      formatCount(it.rows),
      formatCount(it.changed),
      formatDuration(it.tookMs),
      it.failed !== null
        ? foreignText(it.failed)
        : it.skipped !== null
          ? html`the key lacks ${foreignText(it.skipped)}`
          : 'complete',
    ]),
    empty: 'It has not finished, so it has stored no figures yet.',
  })
  const content = html`${facts([
    ['Outcome', outcomeOf(run, frame.now)],
    ['Mode', run.mode],
    ['Started', timeOf(run.startedAt, frame)],
    ['Ended', timeOf(run.finishedAt, frame)],
    ['Requests', formatCount(run.requests)],
    ['Rows', `${formatCount(run.rows)}, of these ${formatCount(run.changed)} new or changed`],
  ])}${section('Streams', streams)}`
  return { title: 'Run', section: 'Runs', content }
}
