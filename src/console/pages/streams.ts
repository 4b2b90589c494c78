/** The streams of a project with their gaps, and the fields found in them. */
import { streamNames } from '../../../schema/stream-specs.ts'
import type { ConfiguredLake } from '../../config/lakes.ts'
import { readLakeStatus } from '../../export/lake/manifest.ts'
import { formatCount, pluralize } from '../../values/format.ts'
import { type Html, html, nothing } from '../../values/html.ts'
import { cutNote, facts, linkTo, livePart, section, table } from '../blocks.ts'
import { type StreamState, scheduleText, streamStateOf } from '../core/stream-state.ts'
import type { ConsolePage, ProjectFrame } from '../frame.ts'
import type { StreamRow } from '../reads.ts'
import type { ScreenRequest } from '../screen.ts'
import {
  maxFields,
  maxListed,
  readFailingParents,
  readFields,
  readGaps,
  sampledRows,
} from '../sql/streams.ts'
import { ago, agoText, foreignText, timeOf } from '../text.ts'
import { stateOf, type Word } from '../writeback-blocks.ts'

export function streamTable(rows: readonly StreamRow[], frame: ProjectFrame): Html {
  return table(
    'Streams',
    ['Stream', 'State', '#Last read', 'Schedule', '#Rows', 'Newest row', '#Still to read'],
    rows.map((row) => [
      linkTo(frame, 'streams', row.stream, streamTitle(row.stream)),
      stateLabel(row, frame),
      agoText(row.syncedAt, frame.now),
      row.schedule ?? '–',
      formatCount(row.rows),
      timeOf(row.newest, frame),
      formatCount(row.due),
    ]),
    'No stream has been read yet.',
  )
}

export async function showStreams({
  reads,
  db,
  project,
  frame,
}: ScreenRequest): Promise<ConsolePage> {
  const { streams } = await reads.overview(project)
  const isRead = streams.every(({ syncedAt, skipped }) => syncedAt !== null || skipped !== null)
  const content = html`${streamTable(streams, frame)}
${section('Known to be missing', gapTable(await readGaps(db, null), isRead, frame))}
${section('Cannot be read', failingTable(await readFailingParents(db, null)))}
${project.lakes?.length ? section('Lakes', lakeTable(project.lakes, frame)) : nothing}`
  return {
    title: 'Streams',
    section: 'Streams',
    content: livePart('streams', content),
    isLive: true,
  }
}

/** Null: the project does not mirror it. */
export async function showStream({
  reads,
  db,
  project,
  frame,
  id,
}: ScreenRequest): Promise<ConsolePage | null> {
  const stream = streamNames.find((name) => name === id)
  const row = stream && (await reads.overview(project)).streams.find((it) => it.stream === stream)
  if (row === undefined) return null
  const failing = await readFailingParents(db, row.stream)
  const content = html`${facts([
    ['State', stateLabel(row, frame)],
    ['Last read to its end', ago(row.syncedAt, frame)],
    ['Schedule', row.schedule ?? 'not known here'],
    ['Rows', formatCount(row.rows)],
    ['Newest row', timeOf(row.newest, frame)],
    ['Still to read', pluralize(row.due, 'list')],
  ])}
${
  row.skipped === null
    ? nothing
    : html`<p class="problem">The key lacks the scope
  ${foreignText(row.skipped)}: add it to the key in the app, under Settings > API keys.</p>`
}
${
  row.failed === null
    ? nothing
    : html`<p class="problem">The last sync failed:
  ${foreignText(row.failed)}</p>`
}
${section('Gaps', gapTable(await readGaps(db, row.stream), row.syncedAt !== null, frame))}
${failing.length === 0 ? nothing : section('Cannot be read', failingTable(failing))}`
  return { title: streamTitle(row.stream), section: 'Streams', content }
}

export function lakeTable(lakes: readonly ConfiguredLake[], frame: ProjectFrame): Html {
  return table(
    'Lakes',
    ['Folder', 'As of', 'Schedule', '#Rows'],
    lakes.map((lake) => {
      const { folder, writtenAt, rows, problem } = readLakeStatus(lake)
      const asOf = writtenAt === null ? 'not written yet' : ago(writtenAt, frame)
      return [foreignText(folder), problem ?? asOf, scheduleText(lake.schedule), formatCount(rows)]
    }),
    'None.',
  )
}

/** `isRead`: to its end, so that what is missing is known. */
function gapTable(
  gaps: Awaited<ReturnType<typeof readGaps>>,
  isRead: boolean,
  frame: ProjectFrame,
): Html {
  const list = table(
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
    isRead
      ? 'Nothing is known to be missing.'
      : 'Not all has been read to its end, so what is missing is not known yet.',
  )
  return html`${list}${cutNote(gaps.length, maxListed)}`
}

function failingTable(failing: Awaited<ReturnType<typeof readFailingParents>>): Html {
  const list = table(
    'Parents whose rows cannot be read',
    ['Why', '#Parents', 'For example'],
    failing.map(({ reason, count, example }) => [
      foreignText(reason),
      formatCount(count),
      foreignText(example),
    ]),
    'No list has failed.',
  )
  return html`${list}${cutNote(failing.length, maxListed)}`
}

/** Undocumented fields of the service, and how many of the newest rows still have them. */
export async function showSchema({ db, frame }: ScreenRequest): Promise<ConsolePage> {
  const found = await readFields(db)
  const fields = table(
    'Discovered fields',
    ['Stream', 'Field', 'Column', 'Type', 'First seen', '#Filled'],
    found.map(({ stream, path, column, type, firstSeen, filled }) => [
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
  const content = html`<p class="faint">Fields that the documentation of the service does not have,
    the newest first. Filled: in the newest ${formatCount(sampledRows)} rows of the stream.</p>
${fields}${cutNote(found.length, maxFields)}`
  return { title: 'Schema', section: 'Schema', content }
}

const words: Readonly<Record<StreamState, Word>> = {
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
