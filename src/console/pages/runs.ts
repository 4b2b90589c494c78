/** The sync runs of a project, and what one of them did in each stream. */
import { recordRetentionMs } from '../../maintenance/sql/retention.ts'
import { withQuery } from '../../values/address.ts'
import { formatCount, formatDuration } from '../../values/format.ts'
import { type Html, html } from '../../values/html.ts'
import type { Ms } from '../../values/time.ts'
import { addressOf, choices, facts, linkTo, older, section, table } from '../blocks.ts'
import { rowsPerPage, toPage } from '../core/list-page.ts'
import type { ConsolePage, ProjectFrame } from '../frame.ts'
import type { ScreenRequest } from '../screen.ts'
import { listRuns, type RunRow, readRun } from '../sql/runs.ts'
import { ageText, foreignText, spanText, timeOf } from '../text.ts'
import { streamTitle } from './streams.ts'

const outcomeWords: Readonly<Record<string, string>> = {
  complete: 'complete',
  gaps: 'complete, with gaps',
  failed: 'failed',
  interrupted: 'interrupted',
}

function outcomeOf({ outcome, startedAt }: RunRow, now: number): string {
  return outcome === null
    ? `running for ${ageText(now - Date.parse(startedAt))}`
    : (outcomeWords[outcome] ?? outcome)
}

/** The warehouse has whole seconds. */
const runDuration = (ms: Ms) => (ms < 1000 ? 'under 1 s' : formatDuration(ms))

export function runTable(
  runs: readonly RunRow[],
  frame: ProjectFrame,
  empty = 'No sync has run yet.',
): Html {
  return table(
    'Sync runs, the last one first',
    ['Started', 'Mode', 'Outcome', '#Took', '#Requests', '#Rows', '#Changed'],
    runs.map((run) => [
      linkTo(frame, 'runs', run.id, timeOf(run.startedAt, frame)),
      run.mode,
      html`<span class="outcome ${run.outcome ?? 'running'}">${outcomeOf(run, frame.now)}</span>`,
      run.finishedAt === null
        ? '–'
        : runDuration(Date.parse(run.finishedAt) - Date.parse(run.startedAt)),
      formatCount(run.requests),
      formatCount(run.rows),
      formatCount(run.changed),
    ]),
    empty,
  )
}

export async function showRuns({ db, frame, query }: ScreenRequest): Promise<ConsolePage> {
  const outcome = query('outcome')
  const found = await listRuns(db, outcome, query('before'), rowsPerPage + 1)
  const { rows, next } = toPage(found, rowsPerPage, ({ id }) => id)
  const address = addressOf(frame, 'runs')
  const filters = [null, ...Object.keys(outcomeWords)].map((value) => ({
    label: value === null ? 'All' : (outcomeWords[value] ?? value),
    to: withQuery(address, { outcome: value }),
    isChosen: value === outcome,
  }))
  const content = html`${choices('Outcome', filters)}${runTable(rows, frame, outcome === null ? undefined : 'There is no such run.')}
<p class="faint">Runs that changed nothing are deleted after
  ${spanText(recordRetentionMs.idleRuns)}.</p>
${older(next === null ? null : withQuery(address, { outcome, before: next }))}`
  return { title: 'Runs', section: 'Runs', content }
}

export async function showRun({ db, frame, id }: ScreenRequest): Promise<ConsolePage | null> {
  const run = await readRun(db, id)
  if (run === null) return null
  const streams = table(
    'What the run did in each stream',
    ['Stream', '#Requests', '#Rows', '#Changed', '#Took', 'Result'],
    run.streams.map((it) => [
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
    'It has not finished, so it has stored no figures yet.',
  )
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
