/** What is open now: filtered, sorted, and as a file. */
import { withQuery } from '../../values/address.ts'
import { formatCount, pluralize } from '../../values/format.ts'
import { type Html, html, nothing } from '../../values/html.ts'
import {
  addressOf,
  choices,
  conversationCell,
  older,
  section,
  selectField,
  table,
} from '../blocks.ts'
import type { ConsolePage, ProjectFrame } from '../frame.ts'
import { unfinishedNote } from '../period-blocks.ts'
import { type FileAnswer, type ScreenRequest, visibleTo } from '../screen.ts'
import {
  countOpen,
  type OpenConversation,
  type OpenFilter,
  type OpenGroup,
  openAges,
  openOrders,
  readOpen,
} from '../sql/open-conversations.ts'
import { downloadLinks, listFile, parseForm, readAllPages } from '../table-file.ts'
import { foreignText, spanText, timeOf, todayOf } from '../text.ts'
import { hiddenFields } from '../writeback-blocks.ts'

const orderWords: Readonly<Record<OpenFilter['order'], string>> = {
  age: 'Open the longest',
  wait: 'Waiting the longest',
  silence: 'Silent the longest',
}
const isOrder = (text: string): text is OpenFilter['order'] => Object.hasOwn(openOrders, text)

function parseFilter(query: ScreenRequest['query']): OpenFilter {
  const waiting = query('waiting')
  const order = query('sort') ?? ''
  return {
    minAgeMs: openAges.find((age) => String(age / 1000) === query('older')) ?? 0,
    isWaiting: waiting === 'yes' ? true : waiting === 'no' ? false : null,
    agent: query('assigned') === 'none' ? '' : query('assigned'),
    origin: query('origin'),
    order: isOrder(order) ? order : 'age',
  }
}

/** As the address has it. */
function queryOf({ minAgeMs, isWaiting, agent, origin, order }: OpenFilter) {
  return {
    waiting: isWaiting === null ? null : isWaiting ? 'yes' : 'no',
    older: minAgeMs === 0 ? null : String(minAgeMs / 1000),
    assigned: agent === '' ? 'none' : agent,
    origin,
    sort: order === 'age' ? null : order,
  }
}

type NameOf = (agent: string | null) => string | null

/** An agent whose name is not known, or still being read, is shown by the id. */
const namesOf =
  (names: ReadonlyMap<string, string> | null): NameOf =>
  (agent) =>
    names?.get(agent ?? '') ?? agent

export async function showOpen({
  db,
  reads,
  project,
  frame,
  query,
}: ScreenRequest): Promise<ConsolePage | FileAnswer> {
  const filter = parseFilter(query)
  const form = parseForm(query)
  if (form !== null) {
    const nameOf = namesOf(await reads.agentsById(project))
    const whole = await reads.longDb(project)
    const rows = readAllPages(async (after, limit) => {
      const page = visibleTo(frame, await readOpen(whole, filter, after, frame.now, limit))
      return { ...page, rows: page.rows.map((row) => ({ ...row, agentName: nameOf(row.agent) })) }
    })
    return listFile(`open-${todayOf(frame)}`, fileFields, rows, form)
  }
  const [names, listed, counted] = await Promise.all([
    reads.agentsById(project),
    readOpen(db, filter, query('after'), frame.now),
    countOpen(db, frame.now),
  ])
  const nameOf = namesOf(names)
  const { rows, next } = visibleTo(frame, listed)
  const { groups, isKnown } = visibleTo(frame, counted)
  const address = addressOf(frame, 'open')
  const to = (more: Readonly<Record<string, string | null>>) =>
    withQuery(address, { ...queryOf(filter), ...more })
  const orders = Object.entries(orderWords).map(([name, label]) => ({
    label,
    to: to({ sort: name === 'age' ? null : name }),
    isChosen: name === filter.order,
  }))
  const isCounted = isKnown || rows.length > 0
  const none = isCounted
    ? 'No open conversation matches.'
    : 'What is open is known after the next sync.'
  const count = pluralize(countOf(groups, filter), 'open conversation')
  const list = openTable(rows, none, nameOf, frame)
  const content = html`<div class="period"><form action="${address}">${filterFields(groups, filter, nameOf)}<button
  type="submit">Show</button></form></div>${choices('Sorted by', orders)}
${isCounted ? section(count, list, downloadLinks(to)) : list}
${await unfinishedNote(db)}
${older(next === null ? null : to({ after: next }), 'More')}`
  return { title: 'Open now', section: 'Open now', content }
}

function openTable(
  rows: readonly OpenConversation[],
  none: string,
  nameOf: NameOf,
  frame: ProjectFrame,
): Html {
  const since = (at: string | null) => (at === null ? '–' : spanText(frame.now - Date.parse(at)))
  return table(
    'Open conversations',
    ['Visitor', '#Open for', '#Waits for', 'Last message', 'Assigned', 'Origin'],
    rows.map(({ createdAt, waitingSince, lastAt, lastBy, agent, origin, ...row }) => [
      conversationCell(frame, row),
      since(createdAt),
      since(waitingSince),
      html`${timeOf(lastAt, frame)}${lastBy === null ? nothing : ` by ${speakers[lastBy] ?? lastBy}`}`,
      foreignText(nameOf(agent)),
      foreignText(origin),
    ]),
    none,
  )
}

/** How many the filter chooses. */
function countOf(groups: readonly OpenGroup[], filter: OpenFilter): number {
  const { minAgeMs, isWaiting, agent, origin } = filter
  const chosen = groups.filter(
    (group) =>
      (isWaiting === null || group.isWaiting === isWaiting) &&
      (agent === null || (group.agent ?? '') === agent) &&
      (origin === null || group.origin === origin),
  )
  const nth = openAges.indexOf(minAgeMs)
  return chosen.reduce((sum, { counts }) => sum + (counts[nth] ?? 0), 0)
}

/** Each value with how many there would be, as the rest of the filter is. */
function filterFields(
  groups: readonly OpenGroup[],
  filter: OpenFilter,
  nameOf: NameOf,
): readonly Html[] {
  const asked = queryOf(filter)
  const option = (value: string, label: string, other: Partial<OpenFilter>) => {
    const count = countOf(groups, { ...filter, ...other })
    return { value, label: `${label} (${formatCount(count)})`, count }
  }
  const ages = openAges.map((minAgeMs) =>
    minAgeMs === 0
      ? option('', 'any time', { minAgeMs })
      : option(String(minAgeMs / 1000), `${spanText(minAgeMs)} or longer`, { minAgeMs }),
  )
  const waiting = [
    { value: '', label: 'waiting or not' },
    option('yes', 'waiting', { isWaiting: true }),
    option('no', 'not waiting', { isWaiting: false }),
  ]
  const mostFirst = (list: readonly ReturnType<typeof option>[]) =>
    list.toSorted((a, b) => b.count - a.count)
  const agents = [...new Set(groups.map(({ agent }) => agent ?? ''))].map((agent) =>
    option(agent || 'none', agent === '' ? 'nobody' : (nameOf(agent) ?? ''), { agent }),
  )
  const origins = [...new Set(groups.flatMap(({ origin }) => origin ?? []))].map((origin) =>
    option(origin, origin, { origin }),
  )
  return [
    hiddenFields({ sort: asked.sort }),
    selectField('Open for', 'older', ages, asked.older),
    selectField('Visitor', 'waiting', waiting, asked.waiting),
    selectField(
      'Assigned to',
      'assigned',
      [{ value: '', label: 'anyone or nobody' }, ...mostFirst(agents)],
      asked.assigned,
    ),
    selectField(
      'Origin',
      'origin',
      [{ value: '', label: 'any' }, ...mostFirst(origins)],
      asked.origin,
    ),
  ]
}

const speakers: Readonly<Record<string, string>> = {
  visitor: 'the visitor',
  human: 'a human',
  ai: 'the AI',
}

const fileFields = {
  conversation_id: 'id',
  visitor_id: 'visitorId',
  visitor_name: 'name',
  visitor_email: 'email',
  created_at: 'createdAt',
  waiting_since: 'waitingSince',
  last_utterance_at: 'lastAt',
  last_utterance_by: 'lastBy',
  assigned_agent_id: 'agent',
  likely_name: 'agentName',
  origin: 'origin',
} as const
