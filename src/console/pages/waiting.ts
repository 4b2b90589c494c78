/** Who waits for an answer, how long, and their last words. */
import { withQuery } from '../../values/address.ts'
import { formatCount } from '../../values/format.ts'
import { html } from '../../values/html.ts'
import type { Ms } from '../../values/time.ts'
import { addressOf, choices, linkTo, older, table } from '../blocks.ts'
import type { Page } from '../page.ts'
import { type ScreenRequest, visibleTo } from '../screen.ts'
import { readWaiting } from '../sql/conversations.ts'
import { foreignText, roughly, shortened, timeOf } from '../text.ts'

export async function showWaiting({ db, frame, query }: ScreenRequest): Promise<Page> {
  const seconds = Number(query('older') ?? 0)
  const minAgeMs = Number.isInteger(seconds) && seconds > 0 && seconds < 1e9 ? seconds * 1000 : 0
  const isUnassigned = query('assigned') === 'none'
  const after = query('after')
  const isCursor = after !== null && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ \S+$/.test(after)
  const filter = { minAgeMs, isUnassigned, after: isCursor ? after : null }
  const { rows, buckets, next } = visibleTo(frame, await readWaiting(db, filter, frame.now))
  const address = (age: Ms, unassigned: boolean, from: string | null = null) =>
    withQuery(addressOf(frame, 'waiting'), {
      older: age === 0 ? null : String(age / 1000),
      assigned: unassigned ? 'none' : null,
      after: from,
    })
  const ages = buckets.map(({ minAgeMs: age, count }) => ({
    label: `${age === 0 ? 'All' : `${roughly(age)} or longer`} (${formatCount(count)})`,
    to: address(age, isUnassigned),
    isChosen: age === minAgeMs,
  }))
  const assignments = [false, true].map((unassigned) => ({
    label: unassigned ? 'Assigned to nobody' : 'Any agent',
    to: address(minAgeMs, unassigned),
    isChosen: unassigned === isUnassigned,
  }))
  const waiting = table(
    'Conversations that wait for an answer, the longest first',
    ['#Waits for', 'Visitor', 'Last words', 'Assigned', 'Since'],
    rows.map(({ id, since, name, email, lastWords, agent }) => [
      roughly(frame.now - Date.parse(since)),
      linkTo(frame, 'conversations', id, foreignText(name ?? email ?? id)),
      shortened(lastWords, 140),
      foreignText(agent),
      timeOf(since, frame),
    ]),
    'Nobody waits for an answer.',
  )
  const content = html`${choices('Waits for', ages)}${choices('Assigned', assignments)}${waiting}
${older(next === null ? null : address(minAgeMs, isUnassigned, next), 'Shorter waits')}`
  return { title: 'Waiting', section: 'Waiting', content }
}
