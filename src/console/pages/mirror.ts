/** Pages for those who look after the mirror: streams with their gaps and fields, runs, and what the service turned out to do. */
import { streamNames } from '../../../schema/stream-specs.ts'
import { withQuery } from '../../values/address.ts'
import { formatCount, formatDuration, pluralize } from '../../values/format.ts'
import { type Html, html, nothing } from '../../values/html.ts'
import { addressOf, choices, facts, linkTo, live, older, section, table } from '../blocks.ts'
import { type StreamState, streamStateOf } from '../core/stream-state.ts'
import type { Page, ProjectFrame } from '../page.ts'
import type { StreamRow } from '../reads.ts'
import type { ScreenRequest } from '../screen.ts'
import { listRuns, type RunRow, readRun, readServiceFacts } from '../sql/overview.ts'
import { readFailingParents, readFields, readGaps, sampledRows } from '../sql/streams.ts'
import { ago, agoText, foreignText, roughly, timeOf } from '../text.ts'
import { stateOf, type Word } from '../writeback-blocks.ts'

export function streamTable(rows: readonly StreamRow[], frame: ProjectFrame): Html {
  return table(
    'Streams',
    ['Stream', 'State', '#Last read', 'Schedule', '#Rows', 'Newest row', '#Still to read'],
    rows.map((row) => [
      linkTo(frame, 'streams', row.stream, streamTitle(row.stream)),
      stateLabel(row, frame),
      live(`read-${row.stream}`, agoText(row.syncedAt, frame.now)),
      row.schedule ?? '–',
      row.rows === null ? '…' : formatCount(row.rows),
      timeOf(row.newest, frame),
      formatCount(row.due),
    ]),
    'No stream has been read yet.',
  )
}

/** What changes on the table of streams while it is open. */
export function streamLiveTexts(rows: readonly StreamRow[], now: number): Record<string, string> {
  return Object.fromEntries(rows.map(({ stream, syncedAt }) => [`read-${stream}`, agoText(syncedAt, now)]))
}

export async function showStreams({ reads, db, project, frame }: ScreenRequest): Promise<Page> {
  const content = html`${streamTable(await reads.streamRows(project), frame)}
${section('Known to be missing', gapTable(await readGaps(db, null), frame))}
${section('Cannot be read', failingTable(await readFailingParents(db, null)))}`
  return { title: 'Streams', section: 'Streams', content, isLive: true }
}

/** Null: the project does not mirror it. */
export async function showStream({ reads, db, project, frame, id }: ScreenRequest): Promise<Page | null> {
  const stream = streamNames.find((name) => name === id)
  const row = stream && (await reads.streamRows(project)).find((it) => it.stream === stream)
  if (row === undefined) return null
  const failing = await readFailingParents(db, row.stream)
  const content = html`${facts([
    ['State', stateLabel(row, frame)],
    ['Last read to its end', ago(row.syncedAt, frame)],
    ['Schedule', row.schedule ?? 'not known here'],
    ['Rows', row.rows === null ? '…' : formatCount(row.rows)],
    ['Newest row', timeOf(row.newest, frame)],
    ['Still to read', pluralize(row.due, 'list')],
  ])}
${row.skipped === null ? nothing : html`<p class="problem">The key lacks the scope ${foreignText(row.skipped)}: add it to the key in the app, under Settings > API keys.</p>`}
${row.failed === null ? nothing : html`<p class="problem">The last sync failed: ${foreignText(row.failed)}</p>`}
${section('Gaps', gapTable(await readGaps(db, row.stream), frame))}
${failing.length === 0 ? nothing : section('Cannot be read', failingTable(failing))}`
  return { title: streamTitle(row.stream), section: 'Streams', content }
}

function gapTable(gaps: Awaited<ReturnType<typeof readGaps>>, frame: ProjectFrame): Html {
  return table(
    'Gaps',
    ['Stream', 'From', 'To', 'Why', 'Found', 'Filled'],
    gaps.map(({ stream, from, to, reason, foundAt, resolvedAt }) => [
      streamTitle(stream),
      timeOf(from, frame),
      timeOf(to, frame),
      foreignText(reason),
      ago(foundAt, frame),
      resolvedAt === null ? 'open' : ago(resolvedAt, frame),
    ]),
    'Nothing is known to be missing.',
  )
}

function failingTable(failing: Awaited<ReturnType<typeof readFailingParents>>): Html {
  return table(
    'Parents whose rows cannot be read',
    ['Why', '#Parents', 'For example'],
    failing.map(({ reason, count, example }) => [foreignText(reason), formatCount(count), foreignText(example)]),
    'Every list could be read.',
  )
}

/** Undocumented fields of the service, and how many of the newest rows still have them. */
export async function showSchema({ db, frame }: ScreenRequest): Promise<Page> {
  const fields = table(
    'Discovered fields',
    ['Stream', 'Field', 'Column', 'Type', 'First seen', '#Filled'],
    (await readFields(db)).map(({ stream, path, column, type, firstSeen, filled }) => [
      streamTitle(stream),
      foreignText(path),
      column === null ? 'only in raw' : foreignText(column),
      type,
      ago(firstSeen, frame),
      filled === null
        ? '–'
        : filled === 0
          ? html`<span class="problem">0 %: no longer sent?</span>`
          : `${Math.max(1, Math.round(filled * 100))} %`,
    ]),
    'The service has sent no undocumented field.',
  )
  const content = html`<p class="faint">Fields that the documentation of the service does not have, the newest first. Filled: in the newest ${formatCount(sampledRows)} rows of the stream.</p>
${fields}`
  return { title: 'Schema', section: 'Schema', content }
}

const words: Readonly<Record<StreamState, Omit<Word, 'sentence'>>> = {
  fresh: { word: 'fresh', icon: 'fine' },
  running: { word: 'being read', icon: 'clock' },
  late: { word: 'late', icon: 'wrong' },
  failing: { word: 'failing', icon: 'wrong' },
  skipped: { word: 'no access', icon: 'act' },
  unread: { word: 'not read yet', icon: 'note' },
  read: { word: 'read', icon: 'note' },
}

function stateLabel(row: StreamRow, frame: ProjectFrame): Html {
  return stateOf(words[streamStateOf(row, frame.now)], frame)
}

/** `visitor activity` */
export function streamTitle(stream: string): string {
  return stream.replaceAll('_', ' ')
}

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
  return table(
    'Sync runs, the last one first',
    ['Started', 'Mode', 'Outcome', '#Took', '#Requests', '#Rows', '#Changed'],
    runs.map((run) => [
      linkTo(frame, 'runs', run.id, timeOf(run.startedAt, frame)),
      run.mode,
      html`<span class="outcome ${run.outcome ?? 'running'}">${outcomeOf(run, frame.now)}</span>`,
      run.finishedAt === null ? '–' : formatDuration(Date.parse(run.finishedAt) - Date.parse(run.startedAt)),
      formatCount(run.requests),
      formatCount(run.rows),
      formatCount(run.changed),
    ]),
    'There is no such run.',
  )
}

const rowsPerPage = 50

export async function showRuns({ db, frame, query }: ScreenRequest): Promise<Page> {
  const outcome = query('outcome')
  const runs = await listRuns(db, outcome, query('before'), rowsPerPage)
  const next = runs.length < rowsPerPage ? null : (runs.at(-1)?.id ?? null)
  const address = addressOf(frame, 'runs')
  const filters = [null, ...Object.keys(outcomeWords)].map((value) => ({
    label: value === null ? 'All' : (outcomeWords[value] ?? value),
    to: withQuery(address, { outcome: value }),
    isChosen: value === outcome,
  }))
  const content = html`${choices('Outcome', filters)}${runTable(runs, frame)}
${older(next === null ? null : withQuery(address, { outcome, before: next }))}`
  return { title: 'Runs', section: 'Runs', content }
}

export async function showRun({ db, frame, id }: ScreenRequest): Promise<Page | null> {
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

export async function showService({ db, frame }: ScreenRequest): Promise<Page> {
  const { behaviours, deliveries } = await readServiceFacts(db, frame.now)
  const learned = table(
    'Behaviours that the documentation leaves open',
    ['What', 'Observed', 'Evidence', 'Since'],
    behaviours.map(({ name, value, evidence, learnedAt }) => [
      foreignText(name.replaceAll('_', ' ')),
      foreignText(value),
      foreignText(evidence),
      ago(learnedAt, frame),
    ]),
    'Nothing has been learned yet: the first sync does.',
  )
  const webhooks = table(
    'Deliveries by what was read because of them',
    ['Read because of it', '#Deliveries', 'The last one'],
    deliveries.map(({ found, count, last }) => [foreignText(found), formatCount(count), ago(last, frame)]),
    'There were none.',
  )
  const content = html`${section('What it turned out to do', learned)}
${section('Webhooks of the last 30 days', webhooks)}`
  return { title: 'Service', section: 'Service', content }
}
