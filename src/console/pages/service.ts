/** What the service turned out to do, and what people were notified of. */
import { describeEvent } from '../../maintenance/core/notifications.ts'
import { listNotified, readBehaviours } from '../../maintenance/sql/status.ts'
import { listFailures } from '../../maintenance/sql/workers.ts'
import { html } from '../../values/html.ts'
import { section, sentences, table } from '../blocks.ts'
import type { ConsolePage } from '../frame.ts'
import type { ScreenRequest } from '../screen.ts'
import { ago, foreignText } from '../text.ts'

export async function showService({ db, frame }: ScreenRequest): Promise<ConsolePage> {
  const behaviours = await readBehaviours(db.db, db.project)
  const learned = table(
    'What the service does',
    ['About', 'What it does', 'How this is known', 'Learned'],
    behaviours.map(({ name, value, evidence, learnedAt }) => {
      const { of, text } = describeBehaviour(name, value)
      return [of, foreignText(text), foreignText(evidence), ago(learnedAt, frame)]
    }),
    'Nothing has been learned yet: the first sync does.',
  )
  const failing = (await listFailures(db.db, db.project)).find(({ job }) => job === 'notify')
  const announced = table(
    'What was announced and still holds',
    ['Event', 'Announced'],
    (await listNotified(db)).map(({ event, announcedAt }) => [
      describeEvent(event),
      ago(announcedAt, frame),
    ]),
    'Nothing has been announced, or no address is set (notify in the configuration).',
  )
  const problems =
    failing === undefined ? [] : [{ kind: 'wrong', text: foreignText(failing.reason) } as const]
  const content = html`${section('What its documentation leaves open', learned)}
    ${section('Notifications', html`${sentences(problems, frame)}${announced}`)}`
  return { title: 'Service', section: 'Service', content }
}

/** By the name of the fact without its stream; `*`: the parameter that it is about. */
const descriptions: Readonly<Record<string, (value: string, parameter: string) => string>> = {
  order: (order) => `Its rows come ${order.replace('unknown way', 'in an unknown direction')}.`,
  pages: (end) => `Without a bound, the ${end.replace(' first', ' rows come first')}.`,
  '*_pages': (end, parameter) =>
    `With ${parameter}, the ${end.replace(' first', ' rows come first')}.`,
  '*_includes': (is, parameter) =>
    `${parameter} ${is === 'true' ? 'includes' : 'leaves out'} the rows of its own second.`,
  has_more: (value) =>
    value === 'exact'
      ? 'A page without hasMore is the last one.'
      : 'hasMore may be set on the last page, too.',
  has_more_set: () => 'hasMore says that more rows follow.',
  bounds: () => 'Every request needs both bounds.',
  page_size: (size) => `A page of ${size} rows was all of its list.`,
  without_handled: (value) =>
    value === 'not all'
      ? 'Without a filter, handled conversations are left out.'
      : 'Without a filter, handled conversations are listed, too.',
  handled_filter: () => 'handled=false does not list all open conversations.',
  fields_by_id: (fields) => `A row that is asked for by its id has other fields: ${fields}.`,
  note_field: (field) => `The text of a note is in the field ${field}.`,
  note_field_asked: (field) => `An answer asked for the text of a note in the field ${field}.`,
}

/** `of`: the stream, or what else it is about. A fact without a sentence is named as it is. */
export function describeBehaviour(
  name: string,
  value: string,
): { readonly of: string; readonly text: string } {
  const [of = '', fact = ''] = name.split('.')
  const [, parameter = fact, rest = ''] =
    /^(since|before|from|to)(_pages|_includes)$/.exec(fact) ?? []
  const isSupport = ['honoured', 'ignored', 'refused'].includes(value)
  const sentence = isSupport
    ? () => `The parameter ${fact} is ${value}.`
    : (descriptions[fact] ?? descriptions[`*${rest}`])
  const known = sentence ?? (() => `${fact.replaceAll('_', ' ')}: ${value}`)
  return {
    of: of.replaceAll('_', ' '),
    text: value === 'unknown' ? `Not known at present: ${fact}.` : known(value, parameter),
  }
}
