/** Who waits for an answer, how long, and their last words. */

import { table } from '../../document/table.ts'
import { path, withQuery } from '../../values/address.ts'
import { formatCount } from '../../values/format.ts'
import { type Html, html } from '../../values/html.ts'
import type { EpochMs, Ms } from '../../values/time.ts'
import { choices, older } from '../blocks.ts'
import type { WaitingData } from '../core/data.ts'
import type { Page, ProjectFrame } from '../page.ts'
import { foreignText, roughly, shortened, timeOf } from '../text.ts'

type WaitingView = {
  readonly data: WaitingData
  readonly minAgeMs: Ms
  readonly isUnassigned: boolean
}

export function waitingPage({ data, minAgeMs, isUnassigned }: WaitingView, frame: ProjectFrame): Page {
  const address = path`/console/p/${frame.project}/waiting`
  const queryOf = (age: Ms, unassigned: boolean) => ({
    older: age === 0 ? null : String(age / 1000),
    assigned: unassigned ? 'none' : null,
  })
  const ages = data.buckets.map(({ minAgeMs: age, count }) => ({
    label: `${age === 0 ? 'All' : `${roughly(age)} or longer`} (${formatCount(count)})`,
    to: withQuery(address, queryOf(age, isUnassigned)),
    isChosen: age === minAgeMs,
  }))
  const assignments = [false, true].map((unassigned) => ({
    label: unassigned ? 'Assigned to nobody' : 'Any agent',
    to: withQuery(address, queryOf(minAgeMs, unassigned)),
    isChosen: unassigned === isUnassigned,
  }))
  const next = data.next === null ? null : withQuery(address, { ...queryOf(minAgeMs, isUnassigned), after: data.next })
  const content = html`${choices('Waits for', ages)}${choices('Assigned', assignments)}${waitingTable(data, frame)}
${older(next, 'Shorter waits')}`
  return { title: 'Waiting', section: 'Waiting', content }
}

function waitingTable({ rows }: WaitingData, frame: ProjectFrame): Html {
  return table({
    caption: 'Conversations that wait for an answer, the longest first',
    columns: [
      { title: 'Waits for', isNumber: true },
      { title: 'Visitor' },
      { title: 'Last words' },
      { title: 'Assigned' },
      { title: 'Since' },
    ],
    rows: rows.map(({ id, since, name, email, lastWords, agent }) => [
      ageOf(since, frame.now),
      html`<a href="${path`/console/p/${frame.project}/conversations/${id}`}">${foreignText(name ?? email ?? id)}</a>`,
      shortened(lastWords, 140),
      foreignText(agent),
      timeOf(since, frame),
    ]),
    empty: 'Nobody waits for an answer.',
  })
}

function ageOf(since: string, now: EpochMs): string {
  return roughly(now - Date.parse(since))
}
