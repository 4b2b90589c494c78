/** What the service turned out to do, and the webhooks that it delivered. */
import { formatCount } from '../../values/format.ts'
import { html } from '../../values/html.ts'
import { section, table } from '../blocks.ts'
import { describeBehaviour } from '../core/behaviour-sentences.ts'
import type { Page } from '../frame.ts'
import type { ScreenRequest } from '../screen.ts'
import { readServiceFacts } from '../sql/service.ts'
import { ago, foreignText } from '../text.ts'

export async function showService({ db, frame }: ScreenRequest): Promise<Page> {
  const { behaviours, deliveries } = await readServiceFacts(db, frame.now)
  const learned = table(
    'What the service does',
    ['About', 'What it does', 'How this is known', 'Learned'],
    behaviours.map(({ name, value, evidence, learnedAt }) => {
      const { of, text } = describeBehaviour(name, value)
      return [of, foreignText(text), foreignText(evidence), ago(learnedAt, frame)]
    }),
    'Nothing has been learned yet: the first sync does.',
  )
  const webhooks = table(
    'Deliveries by what was read because of them',
    ['Read because of it', '#Deliveries', 'The last one'],
    deliveries.map(({ found, count, last }) => [foreignText(found), formatCount(count), ago(last, frame)]),
    'There were none.',
  )
  const content = html`${section('What its documentation leaves open', learned)}
${section('Webhooks of the last 30 days', webhooks)}`
  return { title: 'Service', section: 'Service', content }
}
